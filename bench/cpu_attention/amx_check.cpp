// Checks and times generated CPU kernels on a machine that has AMX but no compiler: loads kernels
// that were compiled elsewhere, compares with fp64, prints errors and GFLOP/s. Self-contained,
// built by make_amx_kernels.py; exit code 1 when a kernel is wrong.
//
//   g++ -O2 -std=c++20 -static-libstdc++ -pthread amx_check.cpp -ldl -o amx_check
//   ./amx_check kernels.txt
//
// Each line of kernels.txt: path entry dtype(bf16|fp32) head_dim causal(0|1) block_m scratch_bytes
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../templates/common/params.h"

namespace {

using Kernel = void (*)(const ForwardParams*, unsigned, unsigned, unsigned, void*);

struct Case {
  std::string path, entry, dtype;
  int head_dim, causal, block_m;
  size_t scratch_bytes;
};

float widen(const std::vector<unsigned char>& t, bool bf16, size_t i) {
  uint32_t bits = 0;
  if (bf16) {
    uint16_t half;
    std::memcpy(&half, &t[2 * i], 2);
    bits = uint32_t{half} << 16;
  } else {
    std::memcpy(&bits, &t[4 * i], 4);
  }
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

std::vector<unsigned char> random_tensor(size_t count, bool bf16, std::mt19937& random) {
  std::vector<unsigned char> t(count * (bf16 ? 2 : 4));
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const uint16_t half = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    std::memcpy(&t[i * (bf16 ? 2 : 4)], bf16 ? static_cast<const void*>(&half) : &bits,
                bf16 ? 2 : 4);
  }
  return t;
}

void launch(const Case& c, Kernel kernel, const ForwardParams& params, int threads) {
  const int tiles = (params.seqlen_q + c.block_m - 1) / c.block_m;
  std::atomic<int> next{0};
  const auto work = [&] {
    void* scratch = std::aligned_alloc(64, (c.scratch_bytes + 63) / 64 * 64);
    std::memset(scratch, 0xff, c.scratch_bytes);
    for (int i; (i = next.fetch_add(1)) < tiles * params.heads_q;)
      kernel(&params, i % tiles, i / tiles, 0, scratch);
    std::free(scratch);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}

// Worst of a few rows against fp64, relative.
double error_of(const Case& c, const ForwardParams& p, const std::vector<unsigned char>& q,
                const std::vector<unsigned char>& k, const std::vector<unsigned char>& v,
                const std::vector<unsigned char>& o) {
  const bool bf16 = c.dtype == "bf16";
  const int n = p.seqlen_q, d = c.head_dim;
  double difference = 0, norm = 0;
  for (int head = 0; head < p.heads_q; head += 3) {
    for (int row = 0; row < n; row += n / 13 + 1) {
      const size_t base = size_t(head) * n;
      const int keys = c.causal ? row + 1 : n;
      std::vector<double> s(keys), out(d);
      double max = -1e300, sum = 0;
      for (int key = 0; key < keys; ++key) {
        for (int i = 0; i < d; ++i)
          s[key] +=
              double(widen(q, bf16, (base + row) * d + i)) * widen(k, bf16, (base + key) * d + i);
        max = std::max(max, s[key] *= p.softmax_scale);
      }
      for (int key = 0; key < keys; ++key) {
        const double w = std::exp(s[key] - max);
        sum += w;
        for (int i = 0; i < d; ++i) out[i] += w * widen(v, bf16, (base + key) * d + i);
      }
      for (int i = 0; i < d; ++i) {
        const double expected = out[i] / sum, got = widen(o, bf16, (base + row) * d + i);
        difference += (got - expected) * (got - expected);
        norm += expected * expected;
      }
    }
  }
  return std::sqrt(difference / norm);  // NaN when the output has one
}

bool run(const Case& c, int seqlen) {
  void* image = dlopen(c.path.c_str(), RTLD_NOW);
  if (!image) {
    std::printf("%s: %s\n", c.path.c_str(), dlerror());
    return false;
  }
  const auto kernel = reinterpret_cast<Kernel>(dlsym(image, c.entry.c_str()));
  const bool bf16 = c.dtype == "bf16";
  std::mt19937 random(c.head_dim + seqlen);
  ForwardParams p{};
  p.batch = 1;
  p.heads_q = p.heads_kv = 8;
  p.seqlen_q = p.seqlen_k = seqlen;
  const size_t count = size_t(p.heads_q) * seqlen * c.head_dim;
  const auto q = random_tensor(count, bf16, random), k = random_tensor(count, bf16, random),
             v = random_tensor(count, bf16, random);
  std::vector<unsigned char> o(q.size(), 0xff);
  p.q = q.data();
  p.k = k.data();
  p.v = v.data();
  p.o = o.data();
  p.q_stride_row = p.k_stride_row = p.v_stride_row = p.o_stride_row = c.head_dim;
  p.q_stride_head = p.k_stride_head = p.v_stride_head = p.o_stride_head =
      int64_t{seqlen} * c.head_dim;
  p.window_left = -1;
  p.window_right = c.causal ? 0 : -1;
  p.softmax_scale = 1 / std::sqrt(float(c.head_dim));
  const double flops =
      4.0 * p.heads_q * c.head_dim * seqlen * (c.causal ? (seqlen + 1) / 2.0 : seqlen);
  std::printf("%-28s d=%-4d n=%-5d %s", c.path.substr(c.path.rfind('/') + 1).c_str(), c.head_dim,
              seqlen, c.causal ? "causal" : "full  ");
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  for (int threads : {1, std::min(cores, 8)}) {
    double best = 1e30;
    for (int repeat = 0; repeat < 6; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      launch(c, kernel, p, threads);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("  %d thr %8.3f ms %7.0f GFLOP/s", threads, best * 1e3, flops / best * 1e-9);
  }
  const double error = error_of(c, p, q, k, v, o);
  const bool right = error < (bf16 ? 4e-3 : 2e-6);
  std::printf("  error %.2e %s\n", error, right ? "ok" : "WRONG");
  std::fflush(stdout);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: amx_check kernels.txt\n");
    return 2;
  }
  // ARCH_REQ_XCOMP_PERM for tile data; without it the first tile instruction is fatal.
  const bool amx = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  std::printf("AMX tile data: %s\n", amx ? "granted" : "not to be had");
  std::ifstream list(argv[1]);
  bool right = true;
  for (Case c; list >> c.path >> c.entry >> c.dtype >> c.head_dim >> c.causal >> c.block_m >>
               c.scratch_bytes;) {
    if (c.path.find("/amx_d") != std::string::npos && !amx) continue;
    for (int seqlen : {300, 512, 2048}) right &= run(c, seqlen);
  }
  return right ? 0 : 1;
}
