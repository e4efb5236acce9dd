#include "ffpa-jit/recorded_problem.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "runtime/problem_record.h"

namespace ffpa_jit::cli {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: {}; a line as FFPA_JIT_RECORD writes it is expected",
              where, what);
}

}  // namespace

std::string RecordedProblem::text() const {
  return fmt::format("{}: {}", text_of(shape), text_of(problem));
}

RecordedProblem record_of(const AttentionCall& call) {
  return parse_record(Json::parse(record_line(call)), "a call");
}

RecordedProblem parse_record(const Json& json, const std::string& where) {
  RecordedProblem out;
  try {
    out.json = json;
    out.device = json.at("device");
    out.problem = parse_problem(json.at("problem").get<std::string>());
    const Json& shape = json.at("shape");
    out.shape.batch = shape.at("batch");
    out.shape.heads_q = shape.at("heads_q");
    out.shape.heads_kv = shape.at("heads_kv");
    out.shape.seqlen_q = shape.at("seqlen_q");
    out.shape.seqlen_k = shape.at("seqlen_k");
    out.shape.total_q = shape.at("total_q");
    out.shape.total_k = shape.at("total_k");
    out.window_left = json.at("window").at(0);
    out.window_right = json.at("window").at(1);
    out.softcap = json.at("softcap");
    out.dropout = json.at("dropout");
    out.family = json.at("family");
    for (int i = 0; i < kMaxModifierTensors; ++i) {
      if (out.problem.modifier_tensors[i].rank == 0) continue;
      out.modifier_sizes[i] =
          json.at("modifier_tensors").at(fmt::format("t{}", i)).get<std::vector<int64_t>>();
    }
    validate(out.problem);
    validate(out.problem, out.shape);
  } catch (const Json::exception& error) {
    fail(where, error.what());
  } catch (const Error& error) {
    fail(where, error.what());
  }
  return out;
}

std::vector<RecordedProblem> read_record_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw_error(FFPA_JIT_IO_ERROR, "{} cannot be read", path.string());
  std::vector<RecordedProblem> out;
  std::set<std::string> seen;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || !seen.insert(line).second) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    Json json;
    try {
      json = Json::parse(line);
    } catch (const Json::exception& error) {
      fail(where, error.what());
    }
    out.push_back(parse_record(json, where));
  }
  return out;
}

std::vector<int32_t> sequence_offsets(int64_t batch, int64_t total, int64_t longest) {
  std::vector<int32_t> offsets{0};
  int64_t left = total;
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t length = std::min(longest, i == 0 ? left : left / (batch - i));
    left -= length;
    offsets.push_back(offsets.back() + static_cast<int32_t>(length));
  }
  return offsets;
}

double visible_pairs(int64_t queries, int64_t keys, int64_t left, int64_t right) {
  if (left < 0 && right < 0) return static_cast<double>(queries) * static_cast<double>(keys);
  double pairs = 0;
  for (int64_t r = 0; r < queries; ++r) {
    const int64_t p = r + keys - queries;
    const int64_t first = left < 0 ? 0 : std::max<int64_t>(0, p - left);
    const int64_t last = right < 0 ? keys - 1 : std::min(keys - 1, p + right);
    if (last >= first) pairs += static_cast<double>(last - first + 1);
  }
  return pairs;
}

double flops_of(const RecordedProblem& r) {
  const Shape& s = r.shape;
  const int64_t left = r.window_left, right = r.problem.causal ? 0 : r.window_right;
  double pairs = 0;
  if (r.problem.layout == Layout::kVarlen) {
    const auto q = sequence_offsets(s.batch, s.total_q, s.seqlen_q);
    const auto k = sequence_offsets(s.batch, s.total_k, s.seqlen_k);
    for (size_t i = 0; i + 1 < q.size(); ++i)
      pairs += visible_pairs(q[i + 1] - q[i], k[i + 1] - k[i], left, right);
  } else {
    pairs = visible_pairs(s.seqlen_q, s.seqlen_k, left, right) * static_cast<double>(s.batch);
  }
  return 2.0 * (r.problem.head_dim + r.problem.head_dim_v) * pairs * static_cast<double>(s.heads_q);
}

}  // namespace ffpa_jit::cli
