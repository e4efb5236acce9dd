// Hints that memory will be read soon. PTX ISA, "Data Movement and Conversion Instructions: prefetch".

// prefetch.global.L1: the cache line of `address`.
FFPA_DEVICE void prefetch_global_l1(const void* address) { asm volatile("prefetch.global.L1 [%0];" ::"l"(address)); }
