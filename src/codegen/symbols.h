// Symbols: the names of one scope while scopes are being resolved. A direct counterpart of Jinja2's
// idtracking.Symbols; scope.cpp drives it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ast.h"

namespace ffpa_jit::codegen {

// One variable: a name at a nesting level. Two scopes of the same level in one function share it,
// as they share the Python local that Jinja2 makes of it.
struct VariableId {
  int level = 0;
  std::string name;
  auto operator<=>(const VariableId&) const = default;
};

class Symbols {
 public:
  // The outermost scope; `heap` counts the work, which for a hostile template can be quadratic.
  explicit Symbols(Heap& heap) : heap_(heap), parent_(nullptr), level_(0) {}
  explicit Symbols(const Symbols* parent)
      : heap_(parent->heap_), parent_(parent), level_(parent->level_ + 1) {}

  struct Load {
    VariableLoad::Kind kind;
    VariableId source;  // of an alias
  };

  void load(const std::string& name);
  void store(const std::string& name);
  void declare_parameter(const std::string& name);
  // Merges what the branches of an `if` did: a name set in only some of them falls back to what it
  // was before.
  void merge_branches(const std::vector<Symbols>& branches);

  std::optional<VariableId> find(const std::string& name) const;
  const std::map<VariableId, Load>& loads() const { return loads_; }
  // Every name assigned here or further out, with its variable.
  std::map<std::string, VariableId> visible_stores() const;

  // Records what the nodes of one scope do, without entering inner scopes.
  void record(const Expr& expr);
  void record(const Stmt& stmt);
  void record(const Body& body);
  void record(const Arguments& arguments);
  void record_target(const Expr& target, bool as_parameter);

 private:
  void define(const std::string& name, Load load);

  std::vector<Symbols> branch_copies(size_t count) const;

  Heap& heap_;
  const Symbols* parent_;
  int level_;
  std::map<std::string, VariableId> refs_;
  std::map<VariableId, Load> loads_;
  std::set<std::string> stores_;
};

}  // namespace ffpa_jit::codegen
