// Vector clocks: what each actor (a warp, or an engine that copies) knows of the others' progress.
// An access is ordered after another when the accessor's clock has reached what the other actor's
// own clock was then.
#pragma once

#include <cstdint>
#include <vector>

namespace ffpa_jit::emulator {

class Clocks {
 public:
  static constexpr uint16_t kLast = 0xffff;

  // `actors` clocks, each at 1 in its own component and 0 in the others.
  void reset(unsigned actors) {
    stride_ = (actors + 7) / 8 * 8;
    values_.assign(size_t{stride_} * actors, 0);
    for (unsigned actor = 0; actor < actors; ++actor) of(actor)[actor] = 1;
  }

  unsigned stride() const { return stride_; }
  uint16_t* of(unsigned actor) { return values_.data() + size_t{stride_} * actor; }
  const uint16_t* of(unsigned actor) const { return values_.data() + size_t{stride_} * actor; }

  void join(uint16_t* into, const uint16_t* from) const {
    for (unsigned i = 0; i < stride_; ++i) into[i] = into[i] > from[i] ? into[i] : from[i];
  }

 private:
  unsigned stride_ = 0;
  std::vector<uint16_t> values_;
};

}  // namespace ffpa_jit::emulator
