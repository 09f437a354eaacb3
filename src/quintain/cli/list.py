"""`quintain list worlds|parts|papers|recipes`: what there is, from the registry."""

from __future__ import annotations

import argparse
import json
from typing import Any

from quintain.cli.args import one_of

KINDS = ("worlds", "parts", "papers", "recipes")
FAMILIES = ("sampler", "rollout", "reward", "advantage", "gate", "objective", "memory", "algorithm", "engine")

TITLES = {
    "1506.02438": "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
    "1602.01783": "Asynchronous Methods for Deep Reinforcement Learning",
    "1707.06347": "Proximal Policy Optimization Algorithms",
    "1909.08593": "Fine-Tuning Language Models from Human Preferences",
    "1912.09729": "Mastering Complex Control in MOBA Games with Deep Reinforcement Learning",
    "2402.03300": "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models",
    "2402.14740": "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
    "2406.11896": "DigiRL: Training In-The-Wild Device-Control Agents with Autonomous Reinforcement Learning",
    "2501.03262": "REINFORCE++",
    "2503.14476": "DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
    "2503.20783": "Understanding R1-Zero-Like Training: A Critical Perspective",
    "2505.10978": "Group-in-Group Policy Optimization for LLM Agent Training",
    "2505.20732": "SPA-RL: Reinforcing LLM Agents via Stepwise Progress Attribution",
    "2505.24298": "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning",
    "2506.02864": "BNPO: Beta Normalization Policy Optimization",
    "2506.11902": "TreeRL: LLM Reinforcement Learning with On-Policy Tree Search",
    "2506.24119": "SPIRAL: Self-Play on Zero-Sum Games Incentivizes Reasoning via Multi-Agent Multi-Turn RL",
    "2507.19849": "Agentic Reinforced Policy Optimization",
    "2508.04280": "Enhancing Vision-Language Model Training with Reinforcement Learning in Synthetic Worlds for Real-World Success",
    "2508.08221": "Tricks or Traps? A Deep Dive into RL for LLM Reasoning",
    "2509.11543": "UI-S1: Advancing GUI Automation via Semi-online Reinforcement Learning",
    "2509.25424": "Polychromic Objectives for Reinforcement Learning",
    "2510.01132": "A Practitioner's Guide to Multi-turn Agentic Reinforcement Learning",
    "2510.05592": "In-the-Flow Agentic System Optimization for Effective Planning and Tool Use",
    "2510.06214": "Stratified GRPO: Handling Structural Heterogeneity in RL of LLM Search Agents",
    "2510.12635": "Memory as Action: Autonomous Context Curation for Long-Horizon Agentic Tasks",
    "2510.15414": "MARS: Reinforcing Multi-Agent Reasoning via Self-Play",
    "2510.20022": "SALT: Step-level Advantage Assignment for Long-horizon Agents via Trajectory Graph",
    "2511.13288": "Multi-Agent Deep Research: Training Multi-Agent Systems with M-GRPO",
    "2511.19405": "Learning Robust Social Strategies with Large Language Models",
    "2512.01374": "Stabilizing Reinforcement Learning with LLMs: Formulation and Practices",
    "2512.24873": "Let It Flow: Agentic Crafting on Rock and Roll, Building the ROME Model within an Open Agentic Learning Ecosystem",
    "2601.05242": "GDPO: Group reward-Decoupled Normalization Policy Optimization",
    "2601.06922": "TreePS-RAG: Tree-based Process Supervision for Reinforcement Learning in Agentic RAG",
    "2601.22582": "MC-GRPO: Median-Centered Group Relative Policy Optimization",
    "2602.08847": "Dr. MAS: Stable Reinforcement Learning for Multi-Agent LLM Systems",
    "2602.22817": "Hierarchy-of-Groups Policy Optimization for Long-Horizon Agentic Tasks",
    "2603.10848": "V_0.5: Generalist Value Model as a Prior for Sparse RL Rollouts",
    "1502.05477": "Trust Region Policy Optimization",
    "2401.04056": "A Minimaximalist Approach to Reinforcement Learning from Human Feedback",
    "2505.16282": "ARPO: End-to-End Policy Optimization for GUI Agents with Experience Replay",
    "2506.07468": "Chasing Moving Targets with Online Self-Play Reinforcement Learning for Safer Language Models",
    "2506.13585": "MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention",
    "2507.18071": "Group Sequence Policy Optimization",
    "2507.20673": "Geometric-Mean Policy Optimization",
    "2509.23866": "Efficient Multi-turn RL for GUI Agents via Decoupled Training and Adaptive Data Curation",
    "2509.25958": "RoRecomp",
    "2510.06672": "XRPO",
    "2510.18821": "Search Self-play: Pushing the Frontier of Agent Capability without Supervision",
    "2510.18855": "Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model",
    "2511.20347": "Soft Adaptive Policy Optimization",
    "2601.21558": "ASTRA",
    "2601.22718": "MinPRO",
    "2602.04879": "Rethinking the Trust Region in LLM Reinforcement Learning",
    "2603.08239": "FiberPO",
}


def main(arguments: list[str]) -> int:
    """Print one line per entry, or JSON."""
    parser = argparse.ArgumentParser(prog="quintain list", description=__doc__)
    parser.add_argument("what", type=one_of("list", KINDS), metavar="|".join(KINDS))
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    rows = {"worlds": worlds, "parts": parts, "papers": papers, "recipes": recipes}[given.what]()
    if given.json:
        print(json.dumps(rows, indent=1, default=str))
        return 0
    for row in rows:
        row.pop("ceilings", None)
    widths = {k: max(len(str(r[k])) for r in rows) for k in rows[0]} if rows else {}
    for row in rows:
        print("  ".join(f"{row[k]!s:<{widths[k]}}" for k in row).rstrip())
    print(f"{len(rows)} {given.what}")
    return 0


def worlds() -> list[dict[str, Any]]:
    """Name, domain, engine, seats, oracle and summary of every world."""
    from quintain.registry import entries

    rows = []
    for e in entries("world"):
        facts = e.make().facts
        tags = {"domain": e.tags.get("domain", ""), "engine": e.tags.get("engine", "")}
        rows.append(
            {
                "name": e.name,
                **tags,
                "seats": len(facts.seats),
                "oracle": facts.proof,
                "ceilings": dict(facts.ceilings),
                "summary": e.summary,
            }
        )
    return rows


def parts() -> list[dict[str, Any]]:
    """Family, name, paper, status and summary of every part."""
    from quintain.registry import entries, require_extra

    require_extra("train", "torch")
    rows = []
    for family in FAMILIES:
        for e in entries(family):
            status = e.tags.get("confidence", e.tags.get("status", ""))
            rows.append({"family": family, "name": e.name, "paper": e.paper, "known": status, "summary": e.summary})
    return rows


def papers() -> list[dict[str, Any]]:
    """Every arXiv id with its title and the parts that come from it."""
    found: dict[str, list[str]] = {}
    for row in parts():
        if row["paper"]:
            found.setdefault(row["paper"], []).append(f"{row['family']} {row['name']}")
    return [{"paper": p, "title": TITLES.get(p, ""), "parts": ", ".join(names)} for p, names in sorted(found.items())]


def recipes() -> list[dict[str, Any]]:
    """Every shipped recipe with its first comment line."""
    from quintain import config as configs

    rows = []
    for name, path in configs.recipes().items():
        first = path.read_text().splitlines()[:1]
        rows.append({"name": name, "summary": first[0].lstrip("# ") if first else ""})
    return rows
