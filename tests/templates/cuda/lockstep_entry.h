// Put after a rendered CUDA kernel with entry ffpa_sdpa_forward.
extern "C" __attribute__((visibility("default"))) bool lockstep_run(const void* params,
                                                                    unsigned grid, unsigned threads,
                                                                    bool reversed) {
  ForwardParams copy;
  std::memcpy(&copy, params, sizeof(copy));
  return lockstep::run({grid, 1, 1}, threads, reversed, [&] { ffpa_sdpa_forward(copy); });
}
