// Files -> tensors by name -> the C ABI's arguments.
#include "ffpa-jit/input_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <functional>
#include <limits>

#include "api/attention_args.h"
#include "base/error.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "reference/attention_reference.h"

namespace ffpa_jit::cli {
namespace {

using io::Element;
using io::HostTensor;

constexpr std::array<std::string_view, 15> kNames = {
    "q",  "k",  "v",  "mask", "bias",  "out",       "cu_seqlens_q", "cu_seqlens_k",
    "t0", "t1", "t2", "t3",   "sinks", "seqlens_k", "block_table"};

// The tensors of one input, read when asked for.
struct Input {
  std::string file;
  std::vector<std::string> names;
  std::function<HostTensor(const std::string&)> read;

  bool has(const std::string& name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

Input open_safetensors(const std::filesystem::path& path) {
  auto file = std::make_shared<io::SafetensorsFile>(path);
  Input input{
      path.string(), {}, [file](const std::string& name) { return file->read(*file->find(name)); }};
  for (const io::SafetensorsEntry& entry : file->entries()) input.names.push_back(entry.name);
  return input;
}

// By stem ("layer0_q.npy" is not "q"), or q, k, v in this order when no stem is a known name.
Input open_npy(const std::vector<std::filesystem::path>& paths) {
  auto files = std::make_shared<std::map<std::string, std::filesystem::path>>();
  const bool named = std::any_of(paths.begin(), paths.end(), [](const std::filesystem::path& path) {
    return std::find(kNames.begin(), kNames.end(), path.stem().string()) != kNames.end();
  });
  if (!named && paths.size() != 3) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--input: {} .npy files whose names say nothing; give q, k and v in this order, or "
                "name them {}",
                paths.size(), fmt::join(kNames, ".npy, "));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string name = named ? paths[i].stem().string() : std::string(kNames[i]);
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--input: {}: no tensor is called '{}'; known: {}",
                  paths[i].string(), name, fmt::join(kNames, ", "));
    }
    if (!files->emplace(name, paths[i]).second) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "--input: two files for the tensor '{}'", name);
    }
  }
  Input input{paths.front().parent_path().empty() ? "." : paths.front().parent_path().string(),
              {},
              [files](const std::string& name) { return io::read_npy(files->at(name)); }};
  for (const auto& [name, path] : *files) input.names.push_back(name);
  return input;
}

Input open_input(const std::vector<std::filesystem::path>& paths) {
  if (paths.size() == 1 && std::filesystem::is_directory(paths[0])) {
    std::vector<std::filesystem::path> files;
    for (const std::string_view name : kNames) {
      const std::filesystem::path file = paths[0] / fmt::format("{}.npy", name);
      if (std::filesystem::exists(file)) files.push_back(file);
    }
    if (files.empty()) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "--input: {}: the directory holds none of q.npy, k.npy, v.npy",
                  paths[0].string());
    }
    return open_npy(files);
  }
  if (paths[0].extension() == ".npy") return open_npy(paths);
  if (paths.size() > 1) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--input: several files are read only when they are .npy files");
  }
  return open_safetensors(paths[0]);
}

// "layers.2." before "layers.10.".
bool natural_less(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (std::isdigit(static_cast<unsigned char>(a[i])) &&
        std::isdigit(static_cast<unsigned char>(b[j]))) {
      const auto number = [](const std::string& text, size_t& at) {
        size_t begin = at;
        while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
        while (begin + 1 < at && text[begin] == '0') ++begin;
        return std::string_view(text).substr(begin, at - begin);
      };
      const std::string_view x = number(a, i), y = number(b, j);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

std::vector<std::string> prefixes_of(const Input& input, const std::optional<std::string>& wanted) {
  std::vector<std::string> prefixes;
  for (const std::string& name : input.names) {
    if (name == "q" || name.ends_with(".q")) prefixes.push_back(name.substr(0, name.size() - 1));
  }
  std::sort(prefixes.begin(), prefixes.end(), natural_less);
  if (prefixes.empty()) {
    const std::string held =
        input.names.empty() ? "nothing" : fmt::format("{}", fmt::join(input.names, ", "));
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: holds no tensor 'q' (or 'PREFIX.q'); it holds: {}",
                input.file, held.substr(0, 400));
  }
  if (!wanted) return prefixes;
  if (std::find(prefixes.begin(), prefixes.end(), *wanted) == prefixes.end()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: --prefix is '{}'; the file has: {}", input.file,
                *wanted, fmt::join(prefixes, ", "));
  }
  return {*wanted};
}

DType activation_dtype(Element element, const std::string& what) {
  switch (element) {
    case Element::kFp32:
      return DType::kFp32;
    case Element::kFp16:
      return DType::kFp16;
    case Element::kBf16:
      return DType::kBf16;
    default:
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: fp32, fp16, bf16", what,
                  io::name_of(element));
  }
}

class ProblemReader {
 public:
  ProblemReader(const Input& input, std::string prefix, const ProblemSpec& spec,
                std::optional<DType> dtype, const DeviceRef& device)
      : input_(input), prefix_(std::move(prefix)), spec_(spec), dtype_(dtype), device_(device) {}

  std::unique_ptr<HostProblem> read() {
    auto problem = std::make_unique<HostProblem>();
    problem->name = prefix_.empty() ? std::filesystem::path(input_.file).filename().string()
                                    : prefix_.substr(0, prefix_.size() - 1);
    problem->family = spec_.family;
    ffpa::Attention& args = problem->args;
    args.device_kind = device_kind_of(device_);
    args.device_index = device_.index;
    if (!problem->family.empty()) args.family = problem->family.c_str();
    args.is_causal = spec_.causal;
    args.window_left = spec_.window_left;
    args.window_right = spec_.window_right;
    args.softcap = spec_.softcap;
    args.dropout_p = spec_.dropout;
    args.has_softmax_scale = spec_.scale.has_value();
    args.softmax_scale = spec_.scale.value_or(0);
    const bool varlen = input_.has(prefix_ + "cu_seqlens_q") || spec_.layout == Layout::kVarlen;
    args.layout = varlen                          ? FFPA_JIT_VARLEN
                  : spec_.layout == Layout::kBnhd ? FFPA_JIT_BNHD
                                                  : FFPA_JIT_BHND;
    args.q = read_activation("q", varlen, *problem);
    args.k = read_activation("k", varlen, *problem);
    args.v = read_activation("v", varlen, *problem);
    if (varlen) {
      args.cu_seqlens_q =
          read_offsets("cu_seqlens_q", args.q.sizes[0], args.max_seqlen_q, *problem);
      args.cu_seqlens_k =
          read_offsets("cu_seqlens_k", args.k.sizes[0], args.max_seqlen_k, *problem);
    }
    read_mask(args, *problem);
    read_bias(args, *problem);
    read_features(args, *problem);
    make_outputs(args, varlen, *problem);
    try {
      api::checked_call(args, api::Purpose::kPrepare);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", where(), error.what()));
    }
    read_expected(args, *problem);
    return problem;
  }

 private:
  std::string where() const {
    return prefix_.empty() ? input_.file : fmt::format("{}: {}", input_.file, prefix_);
  }
  [[noreturn]] void fail(std::string_view tensor, const std::string& what) const {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: tensor '{}{}' {}", input_.file, prefix_, tensor,
                what);
  }
  // "" when the file has neither the problem's own nor one for all.
  std::string name_of(const std::string& tensor) const {
    if (input_.has(prefix_ + tensor)) return prefix_ + tensor;
    return input_.has(tensor) ? tensor : "";
  }

  ffpa_jit_tensor keep(const HostTensor& tensor, DType dtype, HostProblem& problem) const {
    ffpa_jit_tensor out = ffpa::tensor(nullptr, static_cast<ffpa_jit_dtype>(dtype), tensor.sizes);
    problem.allocate(out);
    if (!tensor.bytes.empty()) std::memcpy(out.data, tensor.bytes.data(), tensor.bytes.size());
    return out;
  }
  ffpa_jit_tensor convert(const HostTensor& tensor, DType from, DType to,
                          HostProblem& problem) const {
    if (from == to) return keep(tensor, to, problem);
    ffpa_jit_tensor out = ffpa::tensor(nullptr, static_cast<ffpa_jit_dtype>(to), tensor.sizes);
    problem.allocate(out);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      reference::write_element(out.data, out.dtype, i,
                               static_cast<float>(reference::read_element(
                                   tensor.bytes.data(), static_cast<int32_t>(from), i)));
    }
    return out;
  }

  ffpa_jit_tensor read_activation(const std::string& name, bool varlen,
                                  HostProblem& problem) const {
    if (!input_.has(prefix_ + name)) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: has no tensor '{}{}'", input_.file, prefix_,
                  name);
    }
    const HostTensor tensor = input_.read(prefix_ + name);
    if (tensor.sizes.size() != (varlen ? 3u : 4u)) {
      fail(name, fmt::format("has shape {}; {} is expected{}", io::text_of(tensor.sizes),
                             varlen ? "[tokens, heads, dim]" : "[batch, heads, length, dim]",
                             varlen ? "" : " (three dimensions only together with cu_seqlens_q)"));
    }
    const DType from = activation_dtype(
        tensor.element, fmt::format("{}: tensor '{}{}'", input_.file, prefix_, name));
    return convert(tensor, from, dtype_.value_or(from), problem);
  }

  ffpa_jit_tensor read_offsets(const std::string& name, int64_t total, int64_t& longest,
                               HostProblem& problem) const {
    const std::string full = name_of(name);
    if (full.empty())
      fail(name, "is missing; a varlen problem needs cu_seqlens_q and cu_seqlens_k");
    HostTensor tensor = input_.read(full);
    if (tensor.sizes.size() != 1 || tensor.sizes[0] < 1) {
      fail(name, fmt::format("has shape {}; [batch + 1] is expected", io::text_of(tensor.sizes)));
    }
    const size_t count = static_cast<size_t>(tensor.sizes[0]);
    std::vector<int64_t> offsets(count);
    for (size_t i = 0; i < count; ++i) {
      if (tensor.element == Element::kInt64) {
        std::memcpy(&offsets[i], &tensor.bytes[8 * i], 8);
      } else if (tensor.element == Element::kInt32) {
        int32_t value = 0;
        std::memcpy(&value, &tensor.bytes[4 * i], 4);
        offsets[i] = value;
      } else {
        fail(name, fmt::format("is {}; allowed: int32, int64", io::name_of(tensor.element)));
      }
      if (i == 0 ? offsets[0] != 0 : offsets[i] < offsets[i - 1] || offsets[i] > total) {
        fail(name,
             fmt::format(
                 "holds {} at {}; offsets begin with 0, never fall, and end within the {} tokens",
                 offsets[i], i, total));
      }
      if (i > 0) longest = std::max(longest, offsets[i] - offsets[i - 1]);
    }
    if (offsets.back() != total) {
      fail(name, fmt::format("ends at {}; there are {} tokens", offsets.back(), total));
    }
    HostTensor narrow{Element::kInt32, tensor.sizes, std::vector<std::byte>(4 * count)};
    for (size_t i = 0; i < count; ++i) {
      const auto value =
          static_cast<int32_t>(offsets[i]);  // total is a size the API layer takes: below 2^31
      std::memcpy(&narrow.bytes[4 * i], &value, 4);
    }
    return keep(narrow, DType::kInt32, problem);
  }

  void read_mask(ffpa::Attention& args, HostProblem& problem) const {
    const std::string full = name_of("mask");
    if (full.empty()) return;
    const HostTensor tensor = input_.read(full);
    if (tensor.element != Element::kBool && tensor.element != Element::kUint8) {
      fail("mask", fmt::format("is {}; allowed: bool, uint8 (an additive mask is called 'bias')",
                               io::name_of(tensor.element)));
    }
    check_mask_rank("mask", tensor);
    args.mask = keep(tensor, DType::kBool, problem);
  }

  void read_bias(ffpa::Attention& args, HostProblem& problem) const {
    const std::string full = name_of("bias");
    if (full.empty()) return;
    const HostTensor tensor = input_.read(full);
    check_mask_rank("bias", tensor);
    const DType from =
        activation_dtype(tensor.element, fmt::format("{}: tensor '{}'", input_.file, full));
    args.bias = convert(tensor, from,
                        static_cast<int32_t>(from) == args.q.dtype ? from : DType::kFp32, problem);
  }

  void check_mask_rank(std::string_view name, const HostTensor& tensor) const {
    if (tensor.sizes.size() < 2 || tensor.sizes.size() > 4) {
      fail(name, fmt::format("has shape {}; two to four dimensions are expected",
                             io::text_of(tensor.sizes)));
    }
  }

  void read_features(ffpa::Attention& args, HostProblem& problem) const {
    problem.score_modifier = spec_.features.score_modifier;
    if (!problem.score_modifier.empty()) {
      args.score_modifier = problem.score_modifier.c_str();
      // A file may hold what another modifier reads.
      for (int i = 0; i < FFPA_JIT_MAX_MODIFIER_TENSORS; ++i) {
        const std::string name = fmt::format("t{}", i);
        if (problem.score_modifier.find(name) != std::string::npos) {
          args.modifier_tensors[i] = read_numbers(name, true, problem);
        }
      }
    }
    args.sinks = read_numbers("sinks", false, problem);
    args.seqlens_k = read_numbers("seqlens_k", true, problem);
    args.block_table = read_numbers("block_table", true, problem);
    if (spec_.features.accumulate == "fp16") args.accumulate = FFPA_JIT_ACCUMULATE_FP16;
  }

  // fp32, or int32 where whole numbers are allowed; what is stored wider or narrower is converted.
  ffpa_jit_tensor read_numbers(const std::string& name, bool whole, HostProblem& problem) const {
    const std::string full = name_of(name);
    if (full.empty()) return {};
    const HostTensor tensor = input_.read(full);
    if (tensor.element == Element::kInt32 && whole) return keep(tensor, DType::kInt32, problem);
    if (tensor.element == Element::kInt64 && whole) {
      HostTensor narrow{Element::kInt32, tensor.sizes,
                        std::vector<std::byte>(4 * static_cast<size_t>(tensor.elements()))};
      for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
        int64_t value = 0;
        std::memcpy(&value, &tensor.bytes[8 * i], 8);
        if (value < INT32_MIN || value > INT32_MAX) {
          fail(name, fmt::format("holds {}; numbers of 32 bits are expected", value));
        }
        const auto word = static_cast<int32_t>(value);
        std::memcpy(&narrow.bytes[4 * i], &word, 4);
      }
      return keep(narrow, DType::kInt32, problem);
    }
    const DType from =
        activation_dtype(tensor.element, fmt::format("{}: tensor '{}'", input_.file, full));
    return convert(tensor, from, DType::kFp32, problem);
  }

  void make_outputs(ffpa::Attention& args, bool varlen, HostProblem& problem) const {
    args.o = args.q;
    args.o.sizes[args.o.rank - 1] = args.v.sizes[args.v.rank - 1];
    args.o = ffpa::tensor(nullptr, static_cast<ffpa_jit_dtype>(args.q.dtype),
                          std::span<const int64_t>(args.o.sizes, static_cast<size_t>(args.o.rank)));
    problem.allocate(args.o);
    if (!spec_.lse) return;
    const int head = args.layout == FFPA_JIT_BNHD ? 2 : 1, row = varlen ? 0 : 3 - head;
    args.lse = varlen
                   ? ffpa::tensor(nullptr, FFPA_JIT_FP32, {args.q.sizes[head], args.q.sizes[row]})
                   : ffpa::tensor(nullptr, FFPA_JIT_FP32,
                                  {args.q.sizes[0], args.q.sizes[head], args.q.sizes[row]});
    problem.allocate(args.lse);
  }

  void read_expected(const ffpa::Attention& args, HostProblem& problem) const {
    if (!input_.has(prefix_ + "out")) return;
    HostTensor tensor = input_.read(prefix_ + "out");
    activation_dtype(tensor.element, fmt::format("{}: tensor '{}out'", input_.file, prefix_));
    if (!std::equal(tensor.sizes.begin(), tensor.sizes.end(), args.o.sizes,
                    args.o.sizes + args.o.rank)) {
      fail("out",
           fmt::format("has shape {}; the output is {}", io::text_of(tensor.sizes),
                       io::text_of(std::span(args.o.sizes, static_cast<size_t>(args.o.rank)))));
    }
    problem.expected = std::move(tensor);
  }

  const Input& input_;
  std::string prefix_;
  const ProblemSpec& spec_;
  std::optional<DType> dtype_;
  DeviceRef device_;
};

}  // namespace

std::vector<std::unique_ptr<HostProblem>> read_problems(
    const std::vector<std::filesystem::path>& inputs, const std::optional<std::string>& prefix,
    const ProblemSpec& spec, std::optional<DType> dtype, const DeviceRef& device, uint64_t seed) {
  const Input input = open_input(inputs);
  std::vector<std::unique_ptr<HostProblem>> problems;
  for (const std::string& each : prefixes_of(input, prefix)) {
    problems.push_back(ProblemReader(input, each, spec, dtype, device).read());
    problems.back()->args.philox_seed = seed;
  }
  return problems;
}

}  // namespace ffpa_jit::cli
