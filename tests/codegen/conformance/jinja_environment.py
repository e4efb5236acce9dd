"""The environment that the engine must match, and how one case is rendered in it."""
import warnings

import jinja2

warnings.simplefilter("ignore", SyntaxWarning)  # of the Python code that jinja2 makes

OPTIONS = dict(
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
    line_statement_prefix="//%",
    autoescape=False,
)


def render(templates, main, context):
    """{"output": text} or {"error": text, "folding": bool}. A fresh environment: imported modules keep state."""
    environment = jinja2.Environment(loader=jinja2.DictLoader(templates), **OPTIONS)
    try:
        template = environment.get_template(main)
    except Exception as error:
        # Jinja2 folds constants while it compiles; what fails there fails even in code that never runs.
        folding = not isinstance(error, (jinja2.TemplateSyntaxError, jinja2.TemplateNotFound))
        return {"error": "%s: %s" % (type(error).__name__, error), "folding": folding}
    try:
        return {"output": template.render(context)}
    except Exception as error:  # any exception is an error of the template
        return {"error": "%s: %s" % (type(error).__name__, error)}
