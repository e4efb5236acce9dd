"""Random templates from the grammar of the supported subset: mostly valid, all small, the same for the same seed."""
import random
import re

CONTEXT = {
    "n": 7, "x": 2.5, "s": "hello world", "flag": True, "items": [3, 1, 2], "words": ["beta", "Alpha", "gamma"],
    "d": {"b": 2, "a": 1}, "users": [{"name": "bob", "age": 30}, {"name": "Amy", "age": 25}], "empty": [],
    "nothing": None, "uni": "größe",
}
NAMES = list(CONTEXT) + ["v1", "v2", "missing"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in"]

# Productions by type: {i} is an integer expression, {f} a float, {s} text, {l} a list of integers, {w} a list of texts,
# {b} a boolean, {d} a dict, {a} anything. {I}, {S}, ... are the same where a filter or a dot may follow.
RULES = {
    "i": ["1", "0", "-2", "17", "3", "0x10", "n", "n", "{i} + {i}", "{i} - {i}", "{i} * {i}", "{I} // 3", "{I} % 5", "-{I}",
          "({i})", "{W} | length", "{L} | sum", "{L} | first | int", "{L} | max | default(0)", "{S} | length", "{F} | int",
          "{I} | abs", "{S} | wordcount", "{i} if {b} else {i}", "d.a", "d['b']", "items[0]", "items.1", "users[0].age",
          "{S}.count('l')", "{S}.find('o')", "items.index(1)", "2 ** 3", "{S} | int(4)", "d.get('q', 5)", "{D} | count",
          "[{i}, {i}] | min", "{I} | round", "true + {i}", "items[-1]"],
    "f": ["1.5", "0.1", "2.0", "1e3", "1e16", "1e-7", "x", "x", "{i} / 3", "{F} * 2", "{F} + {I}", "{I} | float", "{F} | round(1)",
          "{F} | round(0, 'ceil')", "{F} // 0.3", "{F} % 1", "-{F}", "{I} ** -1 if {I} != 0 else 0.0", "{F} | abs", "{S} | float(1.25)"],
    "s": ["'a'", "'b c'", "''", "'it\\'s'", "'A\\n b'", "'ß'", "s", "s", "uni", "{S} ~ {I}", "{S} + {S}", "{S} * 2", "{S} | upper",
          "{S} | title", "{S} | trim", "{S} | replace('l', 'L')", "{S} | indent(2)", "{S} | center(9)", "{W} | join(', ')",
          "{L} | join", "{I} | string", "{S}.strip()", "{S}.upper()", "{S}.title()", "{S}[1:]", "{S}[::-1]", "{S} | reverse",
          "{S} | capitalize", "{L} | tojson", "{S} | tojson", "'%s-%d' | format({s}, {i})", "'%5.2f' % {F}", "'{:>4}|{:x}'.format({s}, {i})",
          "{s} if {b} else {s}", "{S} | default('z')", "missing | default({s})", "{S} | truncate(6, true)", "{F} | string",
          "{D} | string", "{W} | first | default('none')", "{S}.split() | last | default('-')", "{s} if {b}", "{L} | map('string') | join('+')"],
    "l": ["items", "items", "[1, 2]", "[{i}, {i}]", "[]", "empty", "{L} | sort", "{L} | sort(reverse=true)", "{L} | reverse | list",
          "{L} | unique | list", "{L} + {L}", "{L}[1:]", "{L}[::-1]", "range(3) | list", "range(1, n, 2) | list", "{L} | select('odd') | list",
          "{L} | reject('gt', 2) | list", "{L} | map('abs') | list", "{L} * 2", "users | map(attribute='age') | list", "{W} | map('length') | list",
          "{D}.values() | list | select('number') | list"],
    "w": ["words", "words", "['x', {s}]", "{S}.split()", "{W} | sort", "{W} | map('upper') | list", "{W} | unique | list", "{S} | list",
          "{D} | list", "{W} | sort(case_sensitive=true)", "users | map(attribute='name') | list", "{W} | select('ne', 'x') | list",
          "{W} | reject('in', ['x', 'beta']) | list", "{W}[:2]", "{D}.keys() | list", "{S}.splitlines()"],
    "b": ["true", "false", "flag", "not {B}", "{i} < {i}", "{i} == {i}", "{F} >= {I}", "{S} == {S}", "{S} in {W}", "{I} in {L}", "{I} is odd",
          "{I} is divisibleby 3", "missing is defined", "v1 is defined", "{a} is string", "{A} is number", "{A} is iterable", "{b} and {b}",
          "{b} or {b}", "{I} not in {L}", "1 < {I} <= 5", "{S} is upper", "{A} is none", "{S}.startswith('h')", "{D} is mapping", "{L} == {L}",
          "{S} < {S}", "users[0].zz is defined", "{a} is in [1, 's', none]", "{L} < {L}"],
    "d": ["d", "d", "{}", "{'k': {a}}", "dict(a={i}, b={s})", "users[0]", "{'a': {i}, 'b': {'c': {s}}}", "dict(d, z={i})"],
    "a": ["{i}", "{f}", "{s}", "{l}", "{w}", "{b}", "{d}", "none", "({i}, {s})", "({i},)", "nothing", "{D}.items() | list", "{D} | dictsort",
          "{L} | batch(2) | list", "{L} | slice(2, 'f') | list", "users | groupby('age') | map('first') | list", "users | sort(attribute='age') | first",
          "range(n)", "{a} if {b} else {a}", "{a} or {a}", "{b} and {a}", "[{a}, {a}]", "{W} | first | default(none)", "users | selectattr('age', 'gt', 26) | list"],
}
TEXT = ["a", " b ", "\n", "  \n", "\n\n", " ", "x;", "// c", "\t", "{ }", "# if\n", "é", "//", "%}", "}}"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.macros = []
        self.depth = 0

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, p):
        return self.random.random() < p

    # ---- expressions
    def typed(self, kind, depth=0):
        tight = kind.isupper()
        rules = RULES[kind.lower()]
        rule = self.pick(rules[:8] if depth > 3 else rules)
        if depth > 5:
            rule = self.pick([r for r in rules if "{" not in r or r == "{}"] or ["1"])
        parts = re.split(r"\{([a-zA-Z])\}", rule)
        text = "".join(part if i % 2 == 0 else self.typed(part, depth + 1) for i, part in enumerate(parts))
        simple = re.fullmatch(r"\w+|'\w*'|\[[^\[\]]*\]|\([^()]*\)", text)
        return text if not tight or simple else "(%s)" % text

    def wild(self):
        """Anything, types be damned: mostly an error, which must be one on both sides."""
        a = lambda: self.typed(self.pick("ifslwbdA"), 3) if self.chance(0.8) else self.pick(NAMES)
        return self.pick([
            "%s %s %s" % (a(), self.pick(BINARY), a()), "%s | %s" % (a(), self.pick(WILD_FILTERS)), "%s%s" % (a(), self.pick(WILD_POSTFIX)),
            self.pick(NAMES), "%s is %s" % (a(), self.pick(WILD_TESTS)), "not -%s" % a(), "%s < %s < %s" % (a(), a(), a())])

    def expression(self, kind="a"):
        if self.chance(0.02):
            return self.wild()
        if self.macros and self.chance(0.06):
            return "%s(%s)" % (self.pick(self.macros), ", ".join(self.typed("a", 3) for _ in range(self.random.randrange(3))))
        if self.chance(0.1):
            return "v1" if self.chance(0.5) else "v2"
        return self.typed(kind)

    # ---- statements
    def tag(self, text):
        """One statement, as a tag with some whitespace control or as a line statement."""
        if self.chance(0.3):
            return "\n%s//%%%s %s%s\n" % (self.pick(["", "  ", "\t"]), self.pick(["", "", "", "-", "+"]), text, self.pick(["", "", " ", ":"]) if text.split()[0] in ("if", "for", "elif", "else") else "")
        return "{%%%s %s %s%%}" % (self.pick(["", "", "", "-", "+"]), text, self.pick(["", "", "", "-", "+"]))

    def text(self):
        return "".join(self.pick(TEXT) for _ in range(self.random.randrange(1, 4)))

    def output(self):
        return "{{%s %s %s}}" % (self.pick(["", "", "", "-"]), self.expression(), self.pick(["", "", "", "-"]))

    def body(self):
        self.depth += 1
        count = self.random.randrange(1, 4) if self.depth < 4 else 1
        result = "".join(self.statement() for _ in range(count))
        self.depth -= 1
        return result

    def iterable(self):
        return self.pick(["items", "words", "d", "users", "empty", "range(n)", "'abc'", "[1, 2, 3]", "words | sort", "range(3) | map('string')",
                          self.expression("l"), self.expression("w"), self.expression("s")])

    def statement(self):
        r = self.random.randrange(24)
        if self.depth >= 4:
            r = r % 10
        if r < 5:
            return self.text()
        if r < 10:
            return self.output()
        if r < 13:
            result = self.tag("if " + self.expression("b")) + self.body()
            if self.chance(0.3):
                result += self.tag("elif " + self.expression("b")) + self.body()
            if self.chance(0.5):
                result += self.tag("else") + self.body()
            return result + self.tag("endif")
        if r < 16:
            names = self.pick(["v1", "v2", "v1"])
            iterable = self.iterable()
            if self.chance(0.2):
                names, iterable = "v1, v2", self.pick(["d.items()", "d | dictsort", "[(1, 2), ('a', 'b')]", "{D} | items", "users | groupby('name')"]).replace("{D}", self.typed("D", 4))
            condition = " if " + self.expression("b") if self.chance(0.25) else ""
            loop = self.pick(["", "{{ loop.index }}", "{{ loop.last }}", "{{ loop.revindex0 }}", "{{ loop.cycle('p', 'q') }}", "{{ loop.changed(v1) }}", "{{ loop.previtem is defined }}", "{{ loop.nextitem | d('z') }}", "{{ loop.length }}"])
            result = self.tag("for %s in %s%s" % (names, iterable, condition)) + loop + self.body()
            if self.chance(0.3):
                result += self.tag("else") + self.body()
            return result + self.tag("endfor")
        if r < 19:
            if self.chance(0.15):
                return self.tag("set v1, v2 = %s, %s" % (self.expression(), self.expression()))
            return self.tag("set %s = %s" % (self.pick(["v1", "v2"]), self.expression()))
        if r == 19:
            return self.tag("set v1%s" % self.pick(["", " | upper", " | trim"])) + self.body() + self.tag("endset")
        if r == 20:
            return self.tag("filter " + self.pick(["upper", "trim", "indent(2)", "replace('a', 'b')", "title", "string | reverse"])) + self.body() + self.tag("endfilter")
        if r == 21:
            return self.tag("with v1 = %s, v2 = %s" % (self.expression(), self.expression())) + self.body() + self.tag("endwith")
        if r == 22:
            name = "m%d" % len(self.macros)
            parameters = self.pick(["v1=1, v2=2", "v1=n, v2=none", "v1='p', v2='q'", "v1=n, v2=v1", "v1", ""])
            result = self.tag("macro %s(%s)" % (name, parameters)) + self.body() + self.pick(["", "{{ varargs }}", "{% if caller is defined %}{{ caller() }}{% endif %}", "{{ caller() if caller is defined }}{{ kwargs }}"]) + self.tag("endmacro")
            self.macros.append(name)
            return result
        if self.macros:
            return self.tag("call %s(%s)" % (self.pick(self.macros), self.typed("a", 3))) + self.body() + self.tag("endcall")
        return self.pick(["{# c #}", "{#- c\n -#}", "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} //% if {%- endraw +%}", self.tag("include 'part'"), self.tag("from 'lib' import f") + "{{ f(%s) }}" % self.typed("a", 3), self.tag("import 'lib' as lib") + "{{ lib.k }}"])


WILD_FILTERS = ["upper", "length", "list", "first", "last", "sort", "join", "sum", "min", "int", "float", "abs", "round(2)", "batch(2)|list",
                "dictsort", "items|list", "map('upper')|list", "tojson", "unique|list", "indent", "select|list", "reverse|list", "trim", "title"]
WILD_POSTFIX = ["[0]", "[-1]", "['a']", "['name']", "[:2]", "[::-1]", ".a", ".0", ".name", ".zz", ".upper()", ".items()|list", ".append(1)", ".format(1)", "()"]
WILD_TESTS = ["odd", "even", "sameas none", "lower", "divisibleby 2", "gt 1", "in [1]", "sequence", "callable", "integer", "true"]
PART = "[{{ n }}{% if v1 is defined %}{{ v1 is string }}{% endif %}]\n"
LIB = "{% macro f(a) %}<{{ a }}>{% endmacro %}{% set k = 'K' %}text"


def template(seed):
    generator = Generator(seed)
    start = "{% set v1 = n %}{% set v2 = s %}" if generator.chance(0.8) else ""
    main = start + "".join(generator.statement() for _ in range(generator.random.randrange(2, 7)))
    return {"main": main, "part": PART, "lib": LIB}
