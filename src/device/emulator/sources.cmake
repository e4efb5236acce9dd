find_package(Boost 1.74 REQUIRED)
find_library(FFPA_JIT_BOOST_CONTEXT_ARCHIVE libboost_context.a REQUIRED)
list(APPEND FFPA_DEVICE_SOURCES emulator/async_copy.cpp emulator/barriers.cpp emulator/emulated_device.cpp
  emulator/emulated_kernel.cpp emulator/failure_text.cpp emulator/fiber_stacks.cpp emulator/instruction_table.cpp
  emulator/matrix_multiply.cpp emulator/matrix_transfer.cpp emulator/memory_access.cpp emulator/memory_ranges.cpp
  emulator/scheduler.cpp emulator/shadow_memory.cpp emulator/shared_variables.cpp emulator/warp_exchange.cpp
  emulator/worker.cpp)
list(APPEND FFPA_DEVICE_LINK Boost::boost ${FFPA_JIT_BOOST_CONTEXT_ARCHIVE})
