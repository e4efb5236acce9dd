// Launches that overlap the end of the launch before. PTX ISA, "Parallel Synchronization and Communication Instructions:
// griddepcontrol"; sm_90 and later.

// griddepcontrol.wait: the launches this one depends on are complete, their writes seen. Nothing of theirs is read or
// overwritten before. Returns at once in an ordinary launch.
FFPA_DEVICE void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// griddepcontrol.launch_dependents: the next launch may begin once every block has called this or ended.
FFPA_DEVICE void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
