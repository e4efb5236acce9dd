/* A kernel image for kernel_image_test.cpp: writes each cell's number + `increment[1]` into the output. Built as a
 * shared object that needs no library. */
struct FillParams {
  unsigned* out;
  unsigned grid_x, grid_y;
};

/* Found and patched by a test. */
__attribute__((used)) volatile unsigned increment[2] = {0x5eed5eed, 1};
/* A pointer in the data makes the image carry a relocation. */
__attribute__((used)) volatile unsigned* increment_at = &increment[1];

__attribute__((visibility("default"))) void fill_cells(const void* params, unsigned x, unsigned y, unsigned z,
                                                       void* scratch) {
  const struct FillParams* p = (const struct FillParams*)params;
  (void)scratch;
  p->out[(z * p->grid_y + y) * p->grid_x + x] = (z * p->grid_y + y) * p->grid_x + x + *increment_at;
}
