#include "device/emulator/warp_exchange.h"

#include <fmt/format.h>

namespace ffpa_jit::emulator {
namespace {

Rendezvous& rendezvous_of(Warp& warp, uint32_t members) {
  if (members == 0xffffffffu) return warp.all;
  for (Rendezvous& group : warp.groups) {
    if (group.members == members) return group;
  }
  for (Rendezvous& group : warp.groups) {
    if (group.arrived == 0) {
      group.members = members;
      return group;
    }
  }
  Rendezvous& group = warp.groups.emplace_back();
  group.members = members;
  return group;
}

// The lanes that an instruction of `members` waits for: those that have not left the kernel. An
// .aligned one is for all lanes.
uint32_t needed(const Warp& warp, const Rendezvous& rendezvous) {
  const uint32_t members = rendezvous.members & warp.lanes;
  switch (rendezvous.op) {
    case Op::kBarWarpSync:
    case Op::kShuffle:
    case Op::kVote:
    case Op::kElect:
      return members & warp.live;
    default:
      return members;
  }
}

struct Exchange {
  unsigned value, b, clamp;
  unsigned result, valid;
};

// shfl.sync's table of source lanes, as PTX ISA gives it.
void exchange_lane(FfpaEmuShuffle kind, unsigned lane, Exchange& own, unsigned& source) {
  const unsigned segment = own.clamp >> 8 & 31, limit = own.clamp & 31;
  const unsigned last = (lane & segment) | (limit & ~segment & 31), first = lane & segment;
  const unsigned b = own.b & 31;
  int from = 0;
  bool valid = false;
  switch (kind) {
    case kFfpaEmuShuffleUp:
      from = static_cast<int>(lane) - static_cast<int>(b);
      valid = from >= static_cast<int>(last);
      break;
    case kFfpaEmuShuffleDown:
      from = static_cast<int>(lane + b);
      valid = from <= static_cast<int>(last);
      break;
    case kFfpaEmuShuffleBfly:
      from = static_cast<int>(lane ^ b);
      valid = from <= static_cast<int>(last);
      break;
    case kFfpaEmuShuffleIdx:
      from = static_cast<int>(first | (b & ~segment & 31));
      valid = from <= static_cast<int>(last);
      break;
  }
  source = valid ? static_cast<unsigned>(from) : lane;
  own.valid = valid;
}

}  // namespace

bool meet(Fiber& fiber, const void* place, Op op, uint32_t members, bool aligned, void* operand,
          Rendezvous*& out) {
  Warp& warp = *fiber.warp;
  const uint32_t bit = 1u << fiber.thread->lane;
  if (!(members & bit))
    fail(fiber, place,
         fmt::format("{} with member mask {:#010x}, which leaves out the lane itself", name_of(op),
                     members));
  Rendezvous& rendezvous = rendezvous_of(warp, members);
  if (rendezvous.arrived == 0) {
    rendezvous.members = members;
    rendezvous.op = op;
    rendezvous.place = place;
  } else if (rendezvous.op != op || (aligned && rendezvous.place != place)) {
    Failure failure;
    failure.what =
        fmt::format("divergent {}: lanes of one warp are at different instructions", name_of(op));
    failure.place = place;
    failure.other_place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(rendezvous.place));
    failure.other = fmt::format("another lane, at {},", name_of(rendezvous.op));
    fail(fiber, std::move(failure));
  }
  rendezvous.operands[fiber.thread->lane] = operand;
  rendezvous.arrived |= bit;
  if (rendezvous.arrived != needed(warp, rendezvous)) {
    park(fiber, op, place);
    Rendezvous& now = rendezvous_of(warp, members);
    if (!now.unsettled) return false;
    now.unsettled = false;
    out = &now;
    return true;
  }
  out = &rendezvous;
  return true;
}

void leave(Fiber& fiber, Rendezvous& rendezvous) {
  const uint32_t others = rendezvous.arrived & ~(1u << fiber.thread->lane);
  rendezvous.arrived = 0;
  make_ready(*fiber.warp, others);
}

void warp_sync(FfpaEmuThread* self, const void* place, unsigned members) {
  Fiber& fiber = fiber_of(self);
  Rendezvous* rendezvous = nullptr;
  if (!meet(fiber, place, Op::kBarWarpSync, members, false, nullptr, rendezvous)) return;
  advance_clock(*fiber.warp);
  leave(fiber, *rendezvous);
}

unsigned shuffle(FfpaEmuThread* self, const void* place, FfpaEmuShuffle kind, unsigned value,
                 unsigned b, unsigned clamp, unsigned members, unsigned* valid) {
  Fiber& fiber = fiber_of(self);
  Exchange own{value, b, clamp, 0, 0};
  Rendezvous* rendezvous = nullptr;
  if (meet(fiber, place, Op::kShuffle, members, false, &own, rendezvous)) {
    for (uint32_t lanes = rendezvous->arrived; lanes; lanes &= lanes - 1) {
      const unsigned lane = std::countr_zero(lanes);
      auto& exchange = *static_cast<Exchange*>(rendezvous->operands[lane]);
      unsigned source = 0;
      exchange_lane(kind, lane, exchange, source);
      if (!(rendezvous->arrived >> source & 1)) {
        fail(fiber, place,
             fmt::format("shfl.sync: lane {} reads from lane {}, which does not take part", lane,
                         source));
      }
      exchange.result = static_cast<Exchange*>(rendezvous->operands[source])->value;
    }
    leave(fiber, *rendezvous);
  }
  *valid = own.valid;
  return own.result;
}

unsigned vote(FfpaEmuThread* self, const void* place, FfpaEmuVote kind, unsigned predicate,
              unsigned members) {
  Fiber& fiber = fiber_of(self);
  Exchange own{predicate != 0, 0, 0, 0, 0};
  Rendezvous* rendezvous = nullptr;
  if (meet(fiber, place, Op::kVote, members, false, &own, rendezvous)) {
    uint32_t ballot = 0;
    for (uint32_t lanes = rendezvous->arrived; lanes; lanes &= lanes - 1) {
      const unsigned lane = std::countr_zero(lanes);
      ballot |= static_cast<Exchange*>(rendezvous->operands[lane])->value << lane;
    }
    unsigned result = ballot;
    if (kind == kFfpaEmuVoteAny) result = ballot != 0;
    if (kind == kFfpaEmuVoteAll) result = ballot == rendezvous->arrived;
    if (kind == kFfpaEmuVoteUni) result = ballot == 0 || ballot == rendezvous->arrived;
    for (uint32_t lanes = rendezvous->arrived; lanes; lanes &= lanes - 1) {
      static_cast<Exchange*>(rendezvous->operands[std::countr_zero(lanes)])->result = result;
    }
    leave(fiber, *rendezvous);
  }
  return own.result;
}

unsigned elect(FfpaEmuThread* self, const void* place, unsigned members) {
  Fiber& fiber = fiber_of(self);
  Rendezvous* rendezvous = nullptr;
  if (meet(fiber, place, Op::kElect, members, false, nullptr, rendezvous))
    leave(fiber, *rendezvous);
  const uint32_t later = members >> fiber.cluster->elected_lane << fiber.cluster->elected_lane;
  return fiber.thread->lane == static_cast<unsigned>(std::countr_zero(later ? later : members));
}

void lane_finished(Warp& warp) {
  const auto complete = [&](Rendezvous& rendezvous) {
    if (rendezvous.arrived == 0 || rendezvous.unsettled ||
        rendezvous.arrived != needed(warp, rendezvous))
      return;
    rendezvous.unsettled = true;
    make_ready(warp, rendezvous.arrived & -rendezvous.arrived);
  };
  complete(warp.all);
  for (Rendezvous& group : warp.groups) complete(group);
}

}  // namespace ffpa_jit::emulator
