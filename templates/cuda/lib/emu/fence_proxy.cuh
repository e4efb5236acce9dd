// fence.proxy.async.shared::cta, emulated. PTX ISA, "Parallel Synchronization and Communication Instructions: fence.proxy".
FFPA_DEVICE void fence_proxy_async_shared() { ffpa_emu_fence(kFfpaEmuFenceProxyAsync); }
