// elect.sync, emulated. PTX ISA, "Parallel Synchronization and Communication Instructions: elect.sync".

// True in one lane of the warp, the same at each call; which one depends on the schedule's seed.
FFPA_DEVICE bool elect_sync() { return ffpa_emu_elect(0xffffffffu) != 0; }
