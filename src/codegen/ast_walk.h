// Walks over a syntax tree in the order in which Jinja2 lists a node's fields; the answers below
// depend on it.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "codegen/ast.h"

namespace ffpa_jit::codegen {

// Calls `visit` for every name below, in order. For a `set`-style target its use tells what it is.
using NameVisitor = std::function<void(const NameExpr&)>;
void visit_names(const Expr& expr, const NameVisitor& visit);
void visit_names(const Stmt& stmt, const NameVisitor& visit);
void visit_names(const Body& body, const NameVisitor& visit);

// Which of `names` the body reads before it assigns them.
std::set<std::string> names_read_first(const Body& body, std::set<std::string> names);

}  // namespace ffpa_jit::codegen
