"""How long CDS Hooks keeps a record system waiting; target: 95 % of the requests within 500 ms.

    python -m tests.benchmarks.bench_cds_hooks [--requests 200] [--data]

Each request is an order of two medicines for a patient who takes twelve, drawn from the demonstration drugs, to the
whole app over HTTP. ``--data`` also loads RxNorm and the DailyMed labels of the shared data folder.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tests.benchmarks.bench_drugs import SHARED
from tests.support.served import COMMAND, clean_environment, serve
from tools.drug_database.importers import demo

ORDERED, ACTIVE = 2, 12


def bundle(names: list[str]) -> dict[str, Any]:
    orders = ({"resourceType": "MedicationRequest", "medicationCodeableConcept": {"text": name}} for name in names)
    return {"resourceType": "Bundle", "entry": [{"resource": order} for order in orders]}


def request(names: list[str]) -> dict[str, Any]:
    context = {"draftOrders": bundle(names[:ORDERED])}
    prefetch = {"medications": bundle(names[ORDERED:])}
    return {"hook": "order-sign", "hookInstance": "benchmark", "context": context, "prefetch": prefetch}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--data", action="store_true")
    given = parser.parse_args()
    names = [one.generic_name for one in demo.records() if one.generic_name]
    chosen = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder) / "data", ASCLEPIUS_CDS_OPEN="true") as app:
        if given.data:
            files = [str(SHARED / "rxnorm_prescribable_2025-10.zip"), str(SHARED / "spl")]
            subprocess.run(
                [COMMAND, "drugs", "import", *files], env=clean_environment(app.data_dir), check=True, timeout=500
            )
        taken: list[float] = []
        cards = 0
        with httpx.Client(base_url=app.url, timeout=60) as client:
            for _ in range(given.requests):
                body = request(chosen.sample(names, ORDERED + ACTIVE))
                began = time.perf_counter()
                answer = client.post("/cds-services/order-sign", json=body).raise_for_status()
                taken.append(1_000 * (time.perf_counter() - began))
                cards += len(answer.json()["cards"])
    p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    print(json.dumps({"requests": len(taken), "cards": cards, "p50_ms": round(p50), "p95_ms": round(p95)}))


if __name__ == "__main__":
    main()
