// PTX ISA, "Parallel Synchronization and Communication Instructions: elect.sync"; sm_90 and later.

// elect.sync: true in one lane of the warp, the same at each call. All 32 lanes take part.
FFPA_DEVICE bool elect_sync() {
  unsigned elected;
  asm volatile(
      "{ .reg .pred elected;\n"
      "  elect.sync _|elected, 0xffffffff;\n"
      "  selp.u32 %0, 1, 0, elected; }"
      : "=r"(elected));
  return elected != 0;
}
