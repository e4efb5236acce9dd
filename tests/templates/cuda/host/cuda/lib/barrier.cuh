// Host side of templates/cuda/lib/barrier.cuh.
FFPA_DEVICE void bar_sync() { lockstep::meet_block(); }
FFPA_DEVICE bool bar_red_or(bool predicate) { return lockstep::any_of_block(predicate); }
