// atom and red on global and shared memory: 64 threads on few words, where the order must not
// matter.
#include <bit>
#include <numeric>

#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

constexpr uint32_t kThreads = 64, kCounters = 4;

Words numbers() {
  Words words(kThreads);
  std::iota(words.begin(), words.end(), 1u);
  return words;
}

// Each thread applies `statement` once; the words that `words` lists are what must come out.
Program program(const std::string& name, const std::string& before, const std::string& statement,
                const std::string& after, Words expected) {
  Program program;
  program.name = name;
  program.threads = kThreads;
  program.dynamic_shared_bytes = 4 * kCounters;
  program.input = numbers();
  program.expected = std::move(expected);
  program.kernel =
      std::string(kKernelLine) +
      "  const unsigned t = threadIdx.x, own = params.in[t];\n"
      "  const unsigned word = dynamic_shared() + 4 * (t % 4);\n  (void)own; (void)word;\n" +
      before + "  __syncthreads();\n" + statement + "  __syncthreads();\n" + after + "}\n";
  return program;
}

Words sums() {
  Words words(kCounters, 0);
  for (uint32_t t = 0; t < kThreads; ++t) words[t % kCounters] += t + 1;
  return words;
}
Words float_sums() {
  Words words = sums();
  for (uint32_t& word : words) word = std::bit_cast<uint32_t>(static_cast<float>(word));
  return words;
}
Words times(Words words, uint32_t count, uint32_t value) {
  words.insert(words.end(), count, value);
  return words;
}

}  // namespace

std::vector<Program> atomic_programs() {
  const std::string zero_global = "  if (t < 4) params.out[t] = 0;\n";
  const std::string zero_shared = "  if (t < 4) st_shared_u32(word, 0);\n";
  const std::string show_shared = "  if (t < 4) params.out[t] = ld_shared_u32(word);\n";
  return {
      program("red_add_global_u32", zero_global, "  red_add_global_u32(params.out + t % 4, own);\n",
              "", sums()),
      program("red_add_global_f32", zero_global,
              "  red_add_global_f32((float*)params.out + t % 4, (float)own);\n", "", float_sums()),
      // Whoever drew ticket n writes word 4 + n.
      program("atom_add_global_u32", zero_global,
              "  params.out[4 + atom_add_global_u32(params.out, 1)] = 7;\n", "",
              times({kThreads, 0, 0, 0}, kThreads, 7)),
      program("atom_max_global_s32", "  if (t < 4) params.out[t] = (unsigned)-1000;\n",
              "  atom_max_global_s32((int*)params.out + t % 4, -(int)own);\n", "",
              {~0u, ~1u, ~2u, ~3u}),
      // One thread of each four finds the empty word.
      program("atom_cas_global_b32",
              "  if (t < 4) params.out[t] = 0;\n  if (t == 0) params.out[4] = 0;\n",
              "  if (atom_cas_global_b32(params.out + t % 4, 0, 5) == 0) "
              "red_add_global_u32(params.out + 4, 1);\n",
              "", {5, 5, 5, 5, 4}),
      program("atom_exch_global_b32", zero_global + "  if (t == 0) params.out[4] = 0;\n",
              "  red_add_global_u32(params.out + 4, atom_exch_global_b32(params.out, 3));\n", "",
              {3, 0, 0, 0, 3 * (kThreads - 1)}),
      program("atom_add_acq_rel_gpu_u32", zero_global,
              "  if (atom_add_acq_rel_gpu_u32(params.out, 1) == 63) params.out[1] = 9;\n", "",
              {kThreads, 9, 0, 0}),
      program("red_add_shared_u32", zero_shared, "  red_add_shared_u32(word, own);\n", show_shared,
              sums()),
      program("red_add_shared_f32", zero_shared, "  red_add_shared_f32(word, (float)own);\n",
              show_shared, float_sums()),
      program("atom_add_shared_u32", zero_shared,
              "  params.out[4 + atom_add_shared_u32(dynamic_shared(), 1)] = 7;\n", show_shared,
              times({kThreads, 0, 0, 0}, kThreads, 7)),
      program("atom_max_shared_s32", "  if (t < 4) st_shared_u32(word, (unsigned)-1000);\n",
              "  atom_max_shared_s32(word, -(int)own);\n", show_shared, {~0u, ~1u, ~2u, ~3u}),
      program(
          "atom_cas_shared_b32", zero_shared + "  if (t == 0) params.out[4] = 0;\n",
          "  if (atom_cas_shared_b32(word, 0, 5) == 0) red_add_global_u32(params.out + 4, 1);\n",
          show_shared, {5, 5, 5, 5, 4})};
}

}  // namespace ffpa_jit::testing
