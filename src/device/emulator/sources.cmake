find_package(Boost 1.74 REQUIRED)
find_library(FFPA_JIT_BOOST_CONTEXT_ARCHIVE libboost_context.a REQUIRED)
list(APPEND FFPA_DEVICE_SOURCES emulator/async_actors.cpp emulator/async_copy.cpp emulator/barriers.cpp
  emulator/bulk_copy.cpp emulator/cluster_memory.cpp emulator/emulated_device.cpp emulator/emulated_kernel.cpp
  emulator/failure_text.cpp emulator/fences.cpp emulator/fiber_stacks.cpp emulator/instruction_table.cpp
  emulator/matrix_multiply.cpp emulator/matrix_transfer.cpp emulator/mbarrier.cpp emulator/memory_access.cpp
  emulator/memory_ranges.cpp emulator/register_pool.cpp emulator/scheduler.cpp emulator/shadow_memory.cpp
  emulator/shadow_memory_async.cpp emulator/shared_variables.cpp emulator/tensor_copy.cpp emulator/warp_exchange.cpp
  emulator/warpgroup.cpp emulator/warpgroup_multiply.cpp emulator/warpgroup_product.cpp emulator/worker.cpp)
list(APPEND FFPA_DEVICE_LINK Boost::boost ${FFPA_JIT_BOOST_CONTEXT_ARCHIVE})
