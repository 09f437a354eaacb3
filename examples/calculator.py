"""Train a policy to use a calculator: one Python function is the tool, another is the reward.

quintain train env=tools 'env.params.functions=["examples/calculator.py:calculate"]' data=examples/sums.jsonl \
    reward=examples/calculator.py:score rollout.max_tokens=64 model=FOLDER
"""

import ast
import operator

from quintain.types import Trajectory

OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def calculate(expression: str) -> float:
    """Work out an arithmetic expression.

    expression: numbers, + - * / and brackets, such as (3 + 4) * 12
    """
    return value_of(ast.parse(expression, mode="eval").body)


def value_of(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value_of(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        return OPERATIONS[type(node.op)](value_of(node.left), value_of(node.right))
    raise ValueError(f"only numbers, + - * / and brackets: {ast.unparse(node)}")


def score(text: str, answer: float, trajectory: Trajectory) -> dict[str, float]:
    """1 for the right number, and a little for having used the tool."""
    try:
        right = abs(float(text.split()[-1].strip(".")) - answer) < 1e-6
    except (IndexError, ValueError):
        right = False
    return {"correct": float(right), "tool": 0.1 * ("tool:calculate" in trajectory.events)}
