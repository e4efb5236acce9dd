// PTX ISA, "Parallel Synchronization and Communication Instructions: fence.proxy"; sm_90 and later.

// fence.proxy.async.shared::cta: this thread's ordinary accesses to shared memory come before later ones of the asynchronous proxy
// (wgmma, TMA) by threads that learn of it.
FFPA_DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
