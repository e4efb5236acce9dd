// How the emulator runs a kernel. Made from environment variables by the runtime, set directly by
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace ffpa_jit::emulator {

// When asynchronous copies land and in which order threads run. The same schedule gives the same
// execution.
enum class Order : uint8_t {
  kLate,     // as late as their waits allow; warps in order
  kEarly,    // at once
  kShuffle,  // late, and the next thread is drawn at random from the seed
};

struct Schedule {
  Order order = Order::kLate;
  uint64_t seed = 0;
  bool operator==(const Schedule&) const = default;
};

// Where an address of a kernel's image was written: "templates/cuda/x.j2:12 (qk)", or empty.
// `offset` is from the image's start in memory.
using Symbolizer = std::function<std::string(std::span<const std::byte> image, uint64_t offset)>;

struct Options {
  int num_threads = 0;  // 0: all that this process may use
  Schedule schedule;
  bool detect_races = true;
  Symbolizer symbolizer;  // empty: places are given as offsets
};

}  // namespace ffpa_jit::emulator
