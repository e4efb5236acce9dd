// Votes of a warp, emulated. PTX ISA, "Parallel Synchronization and Communication Instructions: vote.sync".

// vote.sync.any.pred: whether any of the 32 lanes brought `predicate`.
FFPA_DEVICE bool vote_any(bool predicate) { return ffpa_emu_vote(kFfpaEmuVoteAny, predicate, 0xffffffffu) != 0; }
