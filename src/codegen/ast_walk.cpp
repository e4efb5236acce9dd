#include "codegen/ast_walk.h"

namespace ffpa_jit::codegen {
namespace {

void visit_optional(const ExprPtr& expr, const NameVisitor& visit) {
  if (expr) visit_names(*expr, visit);
}

void visit_arguments(const Arguments& arguments, const NameVisitor& visit) {
  for (const ExprPtr& value : arguments.positional) visit_names(*value, visit);
  for (const auto& [name, value] : arguments.keyword) visit_names(*value, visit);
  visit_optional(arguments.star, visit);
  visit_optional(arguments.star_star, visit);
}

void visit_macro(const MacroDefinition& macro, const NameVisitor& visit) {
  for (const auto& parameter : macro.parameters) visit(*parameter);
  for (const ExprPtr& value : macro.defaults) visit_names(*value, visit);
  visit_names(macro.body, visit);
}

}  // namespace

void visit_names(const Expr& expr, const NameVisitor& visit) {
  switch (expr.kind) {
    case ExprKind::kConst:
    case ExprKind::kNamespaceRef:
      return;
    case ExprKind::kName:
      visit(static_cast<const NameExpr&>(expr));
      return;
    case ExprKind::kTuple:
    case ExprKind::kList:
      for (const ExprPtr& item : static_cast<const SequenceExpr&>(expr).items)
        visit_names(*item, visit);
      return;
    case ExprKind::kDict:
      for (const auto& [key, value] : static_cast<const DictExpr&>(expr).items) {
        visit_names(*key, visit);
        visit_names(*value, visit);
      }
      return;
    case ExprKind::kUnary:
      visit_names(*static_cast<const UnaryExpr&>(expr).operand, visit);
      return;
    case ExprKind::kBinary: {
      const auto& binary = static_cast<const BinaryExpr&>(expr);
      visit_names(*binary.left, visit);
      visit_names(*binary.right, visit);
      return;
    }
    case ExprKind::kLogical: {
      const auto& logical = static_cast<const LogicalExpr&>(expr);
      visit_names(*logical.left, visit);
      visit_names(*logical.right, visit);
      return;
    }
    case ExprKind::kCompare: {
      const auto& compare = static_cast<const CompareExpr&>(expr);
      visit_names(*compare.first, visit);
      for (const auto& [op, operand] : compare.rest) visit_names(*operand, visit);
      return;
    }
    case ExprKind::kConcat:
      for (const ExprPtr& item : static_cast<const ConcatExpr&>(expr).items)
        visit_names(*item, visit);
      return;
    case ExprKind::kCondition: {
      const auto& condition = static_cast<const ConditionExpr&>(expr);
      visit_names(*condition.test, visit);
      visit_names(*condition.then, visit);
      visit_optional(condition.otherwise, visit);
      return;
    }
    case ExprKind::kAttribute:
      visit_names(*static_cast<const AttributeExpr&>(expr).object, visit);
      return;
    case ExprKind::kSubscript: {
      const auto& subscript = static_cast<const SubscriptExpr&>(expr);
      visit_names(*subscript.object, visit);
      visit_names(*subscript.index, visit);
      return;
    }
    case ExprKind::kSlice: {
      const auto& slice = static_cast<const SliceExpr&>(expr);
      visit_optional(slice.start, visit);
      visit_optional(slice.stop, visit);
      visit_optional(slice.step, visit);
      return;
    }
    case ExprKind::kFilter: {
      const auto& filter = static_cast<const FilterExpr&>(expr);
      visit_optional(filter.input, visit);
      visit_arguments(filter.arguments, visit);
      return;
    }
    case ExprKind::kTest: {
      const auto& test = static_cast<const TestExpr&>(expr);
      visit_names(*test.input, visit);
      visit_arguments(test.arguments, visit);
      return;
    }
    case ExprKind::kCall: {
      const auto& call = static_cast<const CallExpr&>(expr);
      visit_names(*call.callee, visit);
      visit_arguments(call.arguments, visit);
      return;
    }
  }
}

void visit_names(const Stmt& stmt, const NameVisitor& visit) {
  switch (stmt.kind) {
    case StmtKind::kOutput:
      for (const auto& part : static_cast<const OutputStmt&>(stmt).parts)
        visit_optional(part.expr, visit);
      return;
    case StmtKind::kFor: {
      const auto& loop = static_cast<const ForStmt&>(stmt);
      visit_names(*loop.target, visit);
      visit_names(*loop.iterable, visit);
      visit_names(loop.body, visit);
      visit_names(loop.otherwise, visit);
      visit_optional(loop.filter, visit);
      return;
    }
    case StmtKind::kIf: {
      // The first branch, then the elifs, then else: Jinja2's order.
      const auto& condition = static_cast<const IfStmt&>(stmt);
      for (const auto& branch : condition.branches) {
        visit_names(*branch.test, visit);
        visit_names(branch.body, visit);
      }
      visit_names(condition.otherwise, visit);
      return;
    }
    case StmtKind::kSet: {
      const auto& set = static_cast<const SetStmt&>(stmt);
      visit_names(*set.target, visit);
      visit_names(*set.value, visit);
      return;
    }
    case StmtKind::kSetBlock: {
      const auto& set = static_cast<const SetBlockStmt&>(stmt);
      visit_names(*set.target, visit);
      visit_optional(set.filter, visit);
      visit_names(set.body, visit);
      return;
    }
    case StmtKind::kMacro:
      visit_macro(static_cast<const MacroStmt&>(stmt).macro, visit);
      return;
    case StmtKind::kCallBlock: {
      const auto& block = static_cast<const CallBlockStmt&>(stmt);
      visit_names(*block.call, visit);
      visit_macro(block.caller, visit);
      return;
    }
    case StmtKind::kFilterBlock: {
      const auto& block = static_cast<const FilterBlockStmt&>(stmt);
      visit_names(block.body, visit);
      visit_names(*block.filter, visit);
      return;
    }
    case StmtKind::kWith: {
      const auto& with = static_cast<const WithStmt&>(stmt);
      for (const ExprPtr& target : with.targets) visit_names(*target, visit);
      for (const ExprPtr& value : with.values) visit_names(*value, visit);
      visit_names(with.body, visit);
      return;
    }
    case StmtKind::kInclude:
      visit_names(*static_cast<const IncludeStmt&>(stmt).name, visit);
      return;
    case StmtKind::kImport:
      visit_names(*static_cast<const ImportStmt&>(stmt).name, visit);
      return;
    case StmtKind::kFromImport:
      visit_names(*static_cast<const FromImportStmt&>(stmt).name, visit);
      return;
  }
}

void visit_names(const Body& body, const NameVisitor& visit) {
  for (const StmtPtr& stmt : body) visit_names(*stmt, visit);
}

std::set<std::string> names_read_first(const Body& body, std::set<std::string> names) {
  std::set<std::string> found;
  visit_names(body, [&](const NameExpr& name) {
    if (name.use == NameExpr::Use::kLoad && names.contains(name.name->text)) {
      found.insert(name.name->text);
    } else {
      names.erase(name.name->text);
    }
  });
  return found;
}

}  // namespace ffpa_jit::codegen
