// Vector clocks: what each warp knows of every actor's progress. An actor is a warp, or what
// accesses memory on its own once a thread has asked it to (async_actors.h). An access is ordered
// after another when the accessor's clock has reached what the other actor's own clock was then.
//
// A row has two halves: what the warp knows, and what of it a fence.proxy.async has made known to
// the asynchronous proxy. Barriers pass rows on whole.
#pragma once

#include <cstdint>
#include <vector>

namespace ffpa_jit::emulator {

class Clocks {
 public:
  static constexpr uint16_t kLast = 0xffff;
  static constexpr unsigned kMaxActors = 256;  // what a Tag can name

  // `warps` rows, each at 1 in its own component and 0 in the others, with room for `actors`.
  void reset(unsigned warps, unsigned actors) {
    stride_ = (actors + 7) / 8 * 8;
    fences_ = false;
    values_.assign(size_t{row()} * warps, 0);
    for (unsigned warp = 0; warp < warps; ++warp) of(warp)[warp] = 1;
  }

  unsigned stride() const { return stride_; }
  unsigned row() const { return 2 * stride_; }
  uint16_t* of(unsigned warp) { return values_.data() + size_t{row()} * warp; }
  const uint16_t* of(unsigned warp) const { return values_.data() + size_t{row()} * warp; }
  const uint16_t* fenced(unsigned warp) const { return of(warp) + stride_; }

  void join(uint16_t* into, const uint16_t* from) const {
    const unsigned used = fences_ ? row() : stride_;
    for (unsigned i = 0; i < used; ++i) into[i] = into[i] > from[i] ? into[i] : from[i];
  }

  // What the warp knows is known to the asynchronous proxy too.
  void fence(unsigned warp) {
    fences_ = true;
    uint16_t* known = of(warp);
    for (unsigned i = 0; i < stride_; ++i)
      known[stride_ + i] = known[i] > known[stride_ + i] ? known[i] : known[stride_ + i];
  }

  // Room for more actors; rows kept elsewhere follow by widen_row().
  void widen(unsigned actors) {
    const unsigned before = stride_;
    stride_ = (actors + 7) / 8 * 8;
    const size_t rows = values_.size() / (2 * size_t{before});
    std::vector<uint16_t> wide(size_t{row()} * rows, 0);
    for (size_t i = 0; i < rows; ++i) copy_row(&wide[i * row()], &values_[i * 2 * before], before);
    values_ = std::move(wide);
  }
  void widen_row(std::vector<uint16_t>& kept) const {
    // A wider one is left over from a cluster with more actors, and of no use to anybody.
    if (kept.empty() || kept.size() >= row()) return;
    std::vector<uint16_t> wide(row(), 0);
    copy_row(wide.data(), kept.data(), static_cast<unsigned>(kept.size() / 2));
    kept = std::move(wide);
  }

 private:
  void copy_row(uint16_t* to, const uint16_t* from, unsigned before) const {
    for (unsigned i = 0; i < before; ++i) {
      to[i] = from[i];
      to[stride_ + i] = from[before + i];
    }
  }

  unsigned stride_ = 0;
  bool fences_ = false;  // the second halves are in use
  std::vector<uint16_t> values_;
};

}  // namespace ffpa_jit::emulator
