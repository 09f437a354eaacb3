"""What there is of the papers: named methods with how to reach them, numeric cases, tests, commands; from the tags of the registry.

An entry says which methods it is by the tag `methods`: a name, and what differs from the entry: `preset`, `paper` (arXiv id),
`confidence`, `cases` (beginnings of the ids of its numeric cases), `shown` (the test that shows it at work; an algorithm's is its
exercise), `recipe` (the words of its command, where the name alone would not do) or `wants` (what no world that comes along has).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quintain.cli.catalogue import written
from quintain.registry import HOMES, Entry
from quintain.types import QuintainError

SOURCES = {"code": "read in code", "paper": "paper", "note": "note", "guess": "our guess"}
TITLES = {
    "1502.05477": "Trust Region Policy Optimization",
    "1506.02438": "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
    "1602.01783": "Asynchronous Methods for Deep Reinforcement Learning",
    "1707.06347": "Proximal Policy Optimization Algorithms",
    "1711.05101": "Decoupled Weight Decay Regularization",
    "1909.08593": "Fine-Tuning Language Models from Human Preferences",
    "1912.09729": "Mastering Complex Control in MOBA Games with Deep Reinforcement Learning",
    "2305.18290": "Direct Preference Optimization: Your Language Model is Secretly a Reward Model",
    "2307.04964": "Secrets of RLHF in Large Language Models Part I: PPO",
    "2311.12495": "Multi-Objective Reinforcement Learning Based on Decomposition: A Taxonomy and Framework",
    "2401.04056": "A Minimaximalist Approach to Reinforcement Learning from Human Feedback",
    "2402.03300": "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models",
    "2402.14740": "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
    "2402.15826": "Reward Design for Justifiable Sequential Decision-Making",
    "2406.11896": "DigiRL: Training In-The-Wild Device-Control Agents with Autonomous Reinforcement Learning",
    "2410.02236": "C-MORL: Multi-Objective Reinforcement Learning through Efficient Discovery of Pareto Front",
    "2501.03262": "REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage Normalization",
    "2502.16982": "Muon is Scalable for LLM Training",
    "2503.14476": "DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
    "2503.20783": "Understanding R1-Zero-Like Training: A Critical Perspective",
    "2505.03344": "RIFT: Closed-Loop RL Fine-Tuning for Realistic and Controllable Traffic Simulation",
    "2505.10978": "Group-in-Group Policy Optimization for LLM Agent Training",
    "2505.16282": "ARPO: End-to-End Policy Optimization for GUI Agents with Experience Replay",
    "2505.20732": "SPA-RL: Reinforcing LLM Agents via Stepwise Progress Attribution",
    "2505.22617": "The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models",
    "2505.24298": "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning",
    "2506.02864": "BNPO: Beta Normalization Policy Optimization",
    "2506.07468": "Chasing Moving Targets with Online Self-Play Reinforcement Learning for Safer Language Models",
    "2506.11902": "TreeRL: LLM Reinforcement Learning with On-Policy Tree Search",
    "2506.13585": "MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention",
    "2506.24119": "SPIRAL: Self-Play on Zero-Sum Games Incentivizes Reasoning via Multi-Agent Multi-Turn RL",
    "2507.18071": "Group Sequence Policy Optimization",
    "2507.19849": "Agentic Reinforced Policy Optimization",
    "2507.20673": "Geometric-Mean Policy Optimization",
    "2508.04280": "Enhancing Vision-Language Model Training with Reinforcement Learning in Synthetic Worlds for Real-World Success",
    "2508.08221": "Tricks or Traps? A Deep Dive into RL for LLM Reasoning",
    "2508.10548": "Stabilizing Long-term Multi-turn Reinforcement Learning with Gated Rewards",
    "2509.08755": "AgentGym-RL: Training LLM Agents for Long-Horizon Decision Making through Multi-Turn Reinforcement Learning",
    "2509.11543": "UI-S1: Advancing GUI Automation via Semi-online Reinforcement Learning",
    "2509.22115": "Learning More with Less: A Dynamic Dual-Level Down-Sampling Framework for Efficient Policy Optimization",
    "2509.22576": "EPO: Entropy-regularized Policy Optimization for LLM Agents Reinforcement Learning",
    "2509.22624": "SPARK: Synergistic Policy And Reward Co-Evolving Framework",
    "2509.22637": "Variational Reasoning for Language Models",
    "2509.23866": "Efficient Multi-turn RL for GUI Agents via Decoupled Training and Adaptive Data Curation",
    "2509.25424": "Polychromic Objectives for Reinforcement Learning",
    "2509.25958": "RoRecomp: Enhancing Reasoning Efficiency via Rollout Response Recomposition in Reinforcement Learning",
    "2510.00819": "Stabilizing Policy Gradients for Sample-Efficient Reinforcement Learning in LLM Reasoning",
    "2510.01132": "A Practitioner's Guide to Multi-turn Agentic Reinforcement Learning",
    "2510.04474": "DRPO: Efficient Reasoning via Decoupled Reward Policy Optimization",
    "2510.05592": "In-the-Flow Agentic System Optimization for Effective Planning and Tool Use",
    "2510.06214": "Stratified GRPO: Handling Structural Heterogeneity in Reinforcement Learning of LLM Search Agents",
    "2510.06672": "XRPO: Pushing the Limits of GRPO with Targeted Exploration and Exploitation",
    "2510.08141": "Arbitrary Entropy Policy Optimization: Entropy Is Controllable in Reinforcement Fine-tuning",
    "2510.12635": "Memory as Action: Autonomous Context Curation for Long-Horizon Agentic Tasks",
    "2510.15414": "MARS: Reinforcing Multi-Agent Reasoning via Self-Play",
    "2510.18821": "Search Self-play: Pushing the Frontier of Agent Capability without Supervision",
    "2510.18855": "Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model",
    "2510.18927": "BAPO: Stabilizing Off-Policy Reinforcement Learning for LLMs via Balanced Policy Optimization with Adaptive Clipping",
    "2510.20022": "SALT: Step-level Advantage Assignment for Long-horizon Agents via Trajectory Graph",
    "2510.22543": "FAPO: Flawed-Aware Policy Optimization for Efficient and Reliable Reasoning",
    "2510.26788": "Defeating the Training-Inference Mismatch via FP16",
    "2511.13288": "Multi-Agent Deep Research: Training Multi-Agent Systems with M-GRPO",
    "2511.19405": "Learning Robust Social Strategies with Large Language Models",
    "2511.20347": "Soft Adaptive Policy Optimization",
    "2512.01374": "Stabilizing Reinforcement Learning with LLMs: Formulation and Practices",
    "2512.06835": "Decouple to Generalize: Context-First Self-Evolving Learning for Data-Scarce Vision-Language Reasoning",
    "2512.12858": "Information-Consistent Language Model Recommendations through Group Relative Policy Optimization",
    "2512.18552": "Toward Training Superintelligent Software Agents through Self-Play SWE-RL",
    "2512.24873": "Let It Flow: Agentic Crafting on Rock and Roll, Building the ROME Model within an Open Agentic Learning Ecosystem",
    "2601.03320": "Ratio-Variance Regularized Policy Optimization for Efficient LLM Fine-tuning",
    "2601.03525": "VeRPO: Verifiable Dense Reward Policy Optimization for Code Generation",
    "2601.05242": "GDPO: Group reward-Decoupled Normalization Policy Optimization",
    "2601.06922": "TreePS-RAG: Tree-based Process Supervision for Reinforcement Learning in Agentic RAG",
    "2601.14243": "Jet-RL: Enabling On-Policy FP8 Reinforcement Learning with Unified Training and Rollout Precision Flow",
    "2601.21558": "ASTRA: Automated Synthesis of agentic Trajectories and Reinforcement Arenas",
    "2601.22582": "MC-GRPO: Median-Centered Group Relative Policy Optimization for Small-Rollout Reinforcement Learning",
    "2601.22718": "A Step Back: Prefix Importance Ratio Stabilizes Policy Optimization",
    "2602.03584": "V_0: A Generalist Value Model for Any Policy at State Zero",
    "2602.04651": "SAFE: Stable Alignment Finetuning with Entropy-Aware Predictive Control for RLHF",
    "2602.04879": "Rethinking the Trust Region in LLM Reinforcement Learning",
    "2602.08847": "Dr. MAS: Stable Reinforcement Learning for Multi-Agent LLM Systems",
    "2602.17616": "Stable Asynchrony: Variance-Controlled Off-Policy RL for LLMs",
    "2602.21420": "Overconfident Errors Need Stronger Correction: Asymmetric Confidence Penalties for Reinforcement Learning",
    "2602.22817": "Hierarchy-of-Groups Policy Optimization for Long-Horizon Agentic Tasks",
    "2603.08239": "Fibration Policy Optimization",
    "2603.08561": "RetroAgent: From Solving to Evolving via Retrospective Dual Intrinsic Feedback",
    "2603.10848": "V_0.5: Generalist Value Model as a Prior for Sparse RL Rollouts",
}


def papers() -> list[dict[str, Any]]:
    """One row for each named method, by paper and name.

    Returns:
        name, arXiv id and title ("" without one), what it is reached by, parts of the same paper, beginnings of the ids of its
        numeric cases, what shows it at work (an exercise, or a test), a command that trains with it, or else what it wants of the data
        that no world of ours has, and the status.
    """
    every = [e for kind in HOMES if kind != "world" for e in written(kind)]
    rows = [row_of(e, name, facts, every) for e in every for name, facts in e.tags.get("methods", {}).items()]
    return sorted(rows, key=lambda row: (row["arxiv"] or "~", row["name"].lower()))


def row_of(e: Entry, name: str, facts: Mapping[str, Any], every: list[Entry]) -> dict[str, Any]:
    """The row of a method of an entry."""
    paper, form = facts.get("paper", e.paper), facts.get("preset", "")
    return {
        "name": name,
        "arxiv": paper,
        "title": TITLES.get(paper, ""),
        "by": f"{e.kind} {e.name}" + (f" preset {form}" if form else ""),
        "parts": [f"{o.kind} {o.name}" for o in every if paper and o.paper == paper and o.kind != "algorithm"],
        "cases": list(facts.get("cases", ())),
        "shown": facts.get("shown") or f"exercise {e.tags.get('learns', 'pick')}",
        "recipe": ""
        if "wants" in facts
        else " ".join(["quintain train", *where(e), *facts.get("recipe", named(e, form))]),
        "wants": facts.get("wants", ""),
        "status": SOURCES[facts.get("confidence", e.tags.get("confidence", "guess"))],
    }


def where(e: Entry) -> tuple[str, ...]:
    """The recipe of a method that asks for nothing: KeyDoor, or a game of two where it is about several agents."""
    return ("keydoor", "world=NimDuel", "level=0") if e.tags.get("learns") == "seats" else ("keydoor",)


def named(e: Entry, form: str) -> Iterator[str]:
    """The words of a command that choose an entry, of one kind or another."""
    if e.kind == "algorithm":
        yield f"algorithm={e.name}"
        if form:
            yield f"algorithm.preset={form}"
        return
    if e.kind == "precision":
        yield f"learner.precision={e.name}"
        return
    raise QuintainError(f"{e.kind} {e.name}: say in its tag `methods` which words choose it (recipe), or what it wants")
