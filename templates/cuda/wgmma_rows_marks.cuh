// What is known of a tile's scores of cuda/wgmma_rows.cu.j2 before they are: masks are read a tile ahead, dropout is decided while
// Q K^T is computed.

struct Marks {
//% if mask
  ShownMarks shown;
//% endif
//% if bias
  BiasMarks bias;
//% endif
//% if dropout
  KeptMarks kept;
//% endif

  FFPA_DEVICE void load([[maybe_unused]] const ForwardParams& params, [[maybe_unused]] const Tile& tile, [[maybe_unused]] int j) {
//% if mask
    shown.load(params, tile, j);
//% endif
//% if bias
    bias.load(params, tile, j);
//% endif
  }
};
