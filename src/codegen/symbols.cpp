#include "codegen/symbols.h"

#include "codegen/ast_walk.h"

namespace ffpa_jit::codegen {

void Symbols::define(const std::string& name, Load load) {
  VariableId id{level_, name};
  refs_[name] = id;
  loads_[id] = std::move(load);
}

std::optional<VariableId> Symbols::find(const std::string& name) const {
  for (const Symbols* scope = this; scope; scope = scope->parent_) {
    auto found = scope->refs_.find(name);
    if (found != scope->refs_.end()) return found->second;
  }
  return std::nullopt;
}

void Symbols::load(const std::string& name) {
  if (!find(name)) define(name, {VariableLoad::Kind::kContext, {}});
}

void Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (refs_.contains(name)) return;
  if (parent_) {
    if (std::optional<VariableId> outer = parent_->find(name)) {
      define(name, {VariableLoad::Kind::kAlias, *outer});
      return;
    }
  }
  define(name, {VariableLoad::Kind::kUndefined, {}});
}

void Symbols::declare_parameter(const std::string& name) {
  stores_.insert(name);
  define(name, {VariableLoad::Kind::kParameter, {}});
}

std::vector<Symbols> Symbols::branch_copies(size_t count) const {
  heap_.charge_steps(count * (refs_.size() + loads_.size() + stores_.size()));
  return std::vector<Symbols>(count, *this);
}

void Symbols::merge_branches(const std::vector<Symbols>& branches) {
  std::set<std::string> new_stores;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (!stores_.contains(name)) new_stores.insert(name);
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, id] : branch.refs_) refs_[name] = id;
    for (const auto& [id, load] : branch.loads_) loads_[id] = load;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  for (const std::string& name : new_stores) {
    VariableId id = *find(name);
    std::optional<VariableId> outer = parent_ ? parent_->find(name) : std::nullopt;
    if (outer) {
      loads_[id] = {VariableLoad::Kind::kAlias, *outer};
    } else {
      loads_[id] = {VariableLoad::Kind::kContext, {}};
    }
  }
}

std::map<std::string, VariableId> Symbols::visible_stores() const {
  std::map<std::string, VariableId> result;
  for (const Symbols* scope = this; scope; scope = scope->parent_) {
    for (const std::string& name : scope->stores_) {
      if (!result.contains(name)) result.emplace(name, *scope->find(name));
    }
  }
  return result;
}

void Symbols::record(const Expr& expr) {
  visit_names(expr, [this](const NameExpr& name) {
    switch (name.use) {
      case NameExpr::Use::kLoad:
        load(name.name->text);
        return;
      case NameExpr::Use::kStore:
        store(name.name->text);
        return;
      case NameExpr::Use::kParameter:
        declare_parameter(name.name->text);
        return;
    }
  });
}

void Symbols::record(const Arguments& arguments) {
  for (const ExprPtr& value : arguments.positional) record(*value);
  for (const auto& [name, value] : arguments.keyword) record(*value);
  if (arguments.star) record(*arguments.star);
  if (arguments.star_star) record(*arguments.star_star);
}

void Symbols::record_target(const Expr& target, bool as_parameter) {
  switch (target.kind) {
    case ExprKind::kName: {
      const auto& name = static_cast<const NameExpr&>(target);
      if (as_parameter || name.use == NameExpr::Use::kParameter) {
        declare_parameter(name.name->text);
      } else {
        store(name.name->text);
      }
      return;
    }
    case ExprKind::kNamespaceRef:
      load(static_cast<const NamespaceRefExpr&>(target).name->text);
      return;
    case ExprKind::kTuple:
      for (const ExprPtr& item : static_cast<const SequenceExpr&>(target).items) {
        record_target(*item, as_parameter);
      }
      return;
    default:
      return;
  }
}

void Symbols::record(const Body& body) {
  for (const StmtPtr& stmt : body) record(*stmt);
}

void Symbols::record(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      for (const auto& part : static_cast<const OutputStmt&>(stmt).parts) {
        if (part.expr) record(*part.expr);
      }
      return;
    case StmtKind::kFor:
      record(*static_cast<const ForStmt&>(stmt).iterable);
      return;
    case StmtKind::kIf: {
      // Jinja2 sees `elif`s as one branch of nested ifs.
      const auto& condition = static_cast<const IfStmt&>(stmt);
      const auto& branches = condition.branches;
      record(*branches.front().test);
      std::vector<Symbols> copies = branch_copies(3);
      copies[0].record(branches.front().body);
      for (size_t i = 1; i < branches.size(); ++i) {
        copies[1].record(*branches[i].test);
        std::vector<Symbols> inner = copies[1].branch_copies(1);
        inner[0].record(branches[i].body);
        copies[1].merge_branches(inner);
      }
      copies[2].record(condition.otherwise);
      merge_branches(copies);
      return;
    }
    case StmtKind::kSet: {
      const auto& set = static_cast<const SetStmt&>(stmt);
      record(*set.value);
      record_target(*set.target, false);
      return;
    }
    case StmtKind::kSetBlock:
      record_target(*static_cast<const SetBlockStmt&>(stmt).target, false);
      return;
    case StmtKind::kMacro:
      store(static_cast<const MacroStmt&>(stmt).macro.name->text);
      return;
    case StmtKind::kCallBlock:
      record(*static_cast<const CallBlockStmt&>(stmt).call);
      return;
    case StmtKind::kFilterBlock:
      record(*static_cast<const FilterBlockStmt&>(stmt).filter);
      return;
    case StmtKind::kWith:
      for (const ExprPtr& value : static_cast<const WithStmt&>(stmt).values) record(*value);
      return;
    case StmtKind::kInclude:
      record(*static_cast<const IncludeStmt&>(stmt).name);
      return;
    case StmtKind::kImport: {
      const auto& import = static_cast<const ImportStmt&>(stmt);
      record(*import.name);
      store(import.target->text);
      return;
    }
    case StmtKind::kFromImport: {
      const auto& import = static_cast<const FromImportStmt&>(stmt);
      record(*import.name);
      for (const auto& item : import.items) store(item.alias->text);
      return;
    }
  }
}

}  // namespace ffpa_jit::codegen
