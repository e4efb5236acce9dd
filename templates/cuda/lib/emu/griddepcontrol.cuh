// griddepcontrol, emulated: launches follow each other, so nothing happens. PTX ISA, "Parallel Synchronization and
// Communication Instructions: griddepcontrol".
FFPA_DEVICE void griddepcontrol_wait() {}
FFPA_DEVICE void griddepcontrol_launch_dependents() {}
