// Random inputs.
#include "ffpa-jit/host_problem.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>

#include "base/error.h"
#include "reference/attention_reference.h"

namespace ffpa_jit::cli {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): every output of a counter is well mixed, so one stream
// serves all tensors.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // In (0, 1].
  float uniform() { return (static_cast<float>(bits() >> 40) + 1) * 0x1p-24f; }
  // Box and Muller, 1958.
  float normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const float radius = std::sqrt(-2 * std::log(uniform()));
    const float angle = 6.28318530718f * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  uint64_t state_;
  float spare_ = 0;
  bool has_spare_ = false;
};

void fill_normal(const ffpa_jit_tensor& tensor, RandomStream& random) {
  const int64_t count = elements_of(tensor);
  for (int64_t i = 0; i < count; ++i) {
    reference::write_element(tensor.data, tensor.dtype, i, random.normal());
  }
}

void fill_visible(const ffpa_jit_tensor& tensor, RandomStream& random) {
  auto* bytes = static_cast<unsigned char*>(tensor.data);
  const int64_t count = elements_of(tensor);
  for (int64_t i = 0; i < count; ++i) bytes[i] = random.uniform() <= 0.8f;
}

}  // namespace

int64_t elements_of(const ffpa_jit_tensor& tensor) {
  int64_t count = tensor.rank > 0 ? 1 : 0;
  for (int i = 0; i < tensor.rank; ++i) {
    if (__builtin_mul_overflow(count, tensor.sizes[i], &count)) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "a tensor of this problem has more than 2^63 elements");
    }
  }
  return count;
}

size_t bytes_of(const ffpa_jit_tensor& tensor) {
  return static_cast<size_t>(elements_of(tensor)) * bytes_of(static_cast<DType>(tensor.dtype));
}

void HostProblem::allocate(ffpa_jit_tensor& tensor) {
  const size_t bytes = bytes_of(tensor);
  memory.emplace_back(new (std::nothrow)
                          std::byte[bytes + 1]);  // never a null pointer, also for 0 bytes
  if (!memory.back()) {
    throw_error(FFPA_JIT_OUT_OF_MEMORY,
                "{} bytes of host memory are needed for one tensor of the problem", bytes);
  }
  tensor.data = memory.back().get();
}

std::unique_ptr<HostProblem> generate_problem(const ProblemSpec& spec, const DeviceRef& device,
                                              uint64_t seed) {
  auto problem = std::make_unique<HostProblem>();
  {
    const DescribedProblem described(spec, device);
    described.call();  // refuses what the library would refuse, before any memory is filled
    problem->args = described.args();
  }
  problem->name = short_text(spec);
  problem->family = spec.family;
  problem->args.family = problem->family.empty() ? nullptr : problem->family.c_str();
  problem->score_modifier = spec.features.score_modifier;
  problem->args.score_modifier =
      problem->score_modifier.empty() ? nullptr : problem->score_modifier.c_str();
  problem->args.philox_seed = seed;
  problem->seed = seed;
  RandomStream random(seed);
  for (ffpa_jit_tensor* tensor :
       {&problem->args.q, &problem->args.k, &problem->args.v, &problem->args.bias}) {
    if (tensor->rank == 0) continue;
    problem->allocate(*tensor);
    fill_normal(*tensor, random);
  }
  if (problem->args.mask.rank != 0) {
    problem->allocate(problem->args.mask);
    fill_visible(problem->args.mask, random);
  }
  const ProblemSpec resolved = spec.resolved();
  for (const auto& [tensor, longest] : {std::pair{&problem->args.cu_seqlens_q, resolved.seqlen_q},
                                        {&problem->args.cu_seqlens_k, resolved.seqlen_k}}) {
    if (tensor->rank == 0) continue;
    problem->allocate(*tensor);
    const std::vector<int32_t> offsets = varlen_offsets(resolved.batch, longest);
    std::memcpy(tensor->data, offsets.data(), offsets.size() * sizeof(int32_t));
  }
  fill_features(
      resolved, problem->args, [&](ffpa_jit_tensor& tensor) { problem->allocate(tensor); },
      [&] { return random.normal(); });
  problem->allocate(problem->args.o);
  if (problem->args.lse.rank != 0) problem->allocate(problem->args.lse);
  return problem;
}

uint64_t fresh_seed() {
  std::random_device entropy;
  // 53 bits: exact in the JSON readers that have only doubles.
  return (uint64_t{entropy()} << 32 | entropy()) >> 11;
}

}  // namespace ffpa_jit::cli
