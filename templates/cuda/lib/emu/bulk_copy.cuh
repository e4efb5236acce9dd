// Runs of bytes copied in the background, emulated. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk".

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
FFPA_DEVICE void bulk_load(unsigned to, const void* from, unsigned bytes, unsigned barrier) { ffpa_emu_bulk_load(to, from, bytes, barrier); }

// cp.async.bulk.global.shared::cta.bulk_group
FFPA_DEVICE void bulk_store(void* to, unsigned from, unsigned bytes) { ffpa_emu_bulk_store(to, from, bytes); }

// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
FFPA_DEVICE void bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned barrier) { ffpa_emu_bulk_send(to, from, bytes, barrier); }
