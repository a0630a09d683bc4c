"""The deployment files agree with the settings, with each other and with the metrics."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.tags import Tag, sys_tags
from packaging.utils import parse_wheel_filename
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from chat_app.observability.app_metrics import AppMetrics
from chat_app.settings import SECTIONS, ServerSettings, variable_name

PROJECT = Path(__file__).resolve().parents[2]
DEPLOY = PROJECT / "deploy"
CHART = DEPLOY / "helm" / "asclepius"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text("utf-8"))
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
OF_COMPOSE = {"ASCLEPIUS_IMAGE", "ASCLEPIUS_PUBLISHED_PORT"}
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())


def settings() -> Iterator[tuple[str, Any]]:
    """Each environment variable with the annotation of its setting."""
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            yield variable_name(section, name), field.annotation


SECRETS = [name for name, kind in settings() if SecretStr in (kind, *typing.get_args(kind))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_setting_that_a_file_names_exists(path: Path) -> None:
    named = set(re.findall(r"\bASCLEPIUS_[A-Z_]+[A-Z]\b", path.read_text("utf-8")))
    assert named - {name for name, _ in settings()} - OF_COMPOSE == set()


def test_the_ports_agree() -> None:
    port = ServerSettings.model_fields["port"].default
    assert re.findall(r"EXPOSE (\d+)", DOCKERFILE) == [str(port)]
    assert f"ASCLEPIUS_PORT={port}" in DOCKERFILE
    assert set(re.findall(r"server (app-\d):(\d+)", (DEPLOY / "nginx/asclepius.conf").read_text("utf-8"))) == {
        ("app-1", str(port)),
        ("app-2", str(port)),
    }
    assert f"containerPort: {port}" in (CHART / "templates/deployment.yaml").read_text("utf-8")
    assert f'ASCLEPIUS_PORT: "{port}"' in (CHART / "templates/configmap.yaml").read_text("utf-8")
    replica = COMPOSE["services"]["app-1"]["environment"]
    assert int(replica["ASCLEPIUS_METRICS_PORT"]) == VALUES["metrics"]["port"]


def test_the_image_is_built_from_all_that_the_wheel_needs() -> None:
    build = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*build["packages"], *build["force-include"], "pyproject.toml", "uv.lock", "README.md", "LICENSE"}
    copied = {word for line in re.findall(r"^COPY ([^-].*)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]}
    assert needed <= copied
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert {f"!{name}" for name in needed} <= set(ignored)


def test_the_image_runs_as_nobody_special_and_has_no_compiler() -> None:
    final = DOCKERFILE.split("\nFROM ")[-1]
    assert re.findall(r"^USER (\d+):(\d+)$", final, re.MULTILINE) == [("10001", "10001")]
    assert not re.search(r"apt-get|pip install|build-essential|gcc", final)
    assert "HEALTHCHECK" in final


def test_the_services_of_our_own_are_confined() -> None:
    for name in ("app-1", "app-2", "model"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert any(volume.endswith(":/data") for volume in service["volumes"])


def test_what_compose_requires_is_in_its_example() -> None:
    required = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text("utf-8")))
    example = (DEPLOY / "compose.env.example").read_text("utf-8")
    assert required == set(re.findall(r"^(\w+)=''$", example, re.MULTILINE))


def test_the_replicas_of_compose_believe_nginx_and_get_further_settings() -> None:
    (network,) = COMPOSE["networks"]["front"]["ipam"]["config"]
    for name in ("app-1", "app-2"):
        replica = COMPOSE["services"][name]
        assert replica["environment"]["ASCLEPIUS_TRUSTED_PROXIES"] == network["subnet"]
        assert "front" in replica["networks"]
        assert replica["env_file"] == [{"path": "asclepius.env", "required": False}]
    assert COMPOSE["services"]["nginx"]["networks"] == ["front"]


def test_the_chart_says_why_nobody_can_log_in() -> None:
    helm = pytest.importorskip("helm_python", reason="`make test-deploy` installs Helm")
    for proxies, said in (("", True), ("10.42.0.0/16", False)):
        values = {"settings": {"ASCLEPIUS_TRUSTED_PROXIES": proxies}}
        with helm.Chart.load(CHART) as chart:
            texts = chart.render(values, name="ward", namespace="clinic")
        notes = next(text for path, text in texts.items() if path.endswith("NOTES.txt"))
        assert ("Nobody can log in" in notes) is said


def test_what_compose_names_is_declared() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        named = [volume.split(":")[0] for volume in service.get("volumes", ()) if not volume.startswith((".", "$"))]
        assert set(named) <= set(COMPOSE["volumes"])
        assert set(service.get("networks", ())) <= set(COMPOSE["networks"])
        for other in service.get("depends_on", {}):
            assert "healthcheck" in services[other] or other.startswith("app-")


def test_the_values_of_the_chart_fit_its_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(VALUES)] == []


@pytest.mark.parametrize("name", SECRETS)
def test_the_chart_refuses_a_secret_among_its_settings(name: str) -> None:
    values = VALUES | {"settings": {name: "hunter2"}}
    assert not Draft7Validator(SCHEMA).is_valid(values)


def test_the_chart_refuses_the_demo_user() -> None:
    assert not Draft7Validator(SCHEMA).is_valid(VALUES | {"settings": {"ASCLEPIUS_AUTH": "demo"}})


def test_every_metric_that_an_alert_or_a_dashboard_reads_exists() -> None:
    families = text_string_to_metric_families(generate_latest(AppMetrics().registry).decode())
    known = {name for family in families for name in (family.name, f"{family.name}_total", f"{family.name}_bucket")}
    # Gauges of the running app, which tests/integration/test_observability.py reads.
    known |= {f"asclepius_{name}" for name in ("service_restarts", "turns_active", "turns_waiting", "sockets")}
    known.add("asclepius_audit_failures")
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
    panels = json.loads((DEPLOY / "grafana/asclepius.json").read_text("utf-8"))["panels"]
    queries = [rule["expr"] for rule in rules] + [query["expr"] for panel in panels for query in panel["targets"]]
    read = {name for query in queries for name in re.findall(r"asclepius_\w+", query)}
    assert read <= known
    shown = {name.removesuffix("_bucket") for name in read}
    counted = set(re.findall(r"`(asclepius_\w+)`", (PROJECT / "docs/production.md").read_text("utf-8")))
    assert counted - shown <= {"asclepius_retrieved_passages"}, "the dashboard lacks a metric"


def test_a_replica_may_drain_before_it_is_killed() -> None:
    drain = [
        int(re.findall(r"ASCLEPIUS_DRAIN_SECONDS=(\d+)", text)[0])
        for text in (DOCKERFILE, (DEPLOY / "systemd/asclepius.service").read_text("utf-8"))
    ]
    unit = re.findall(r"TimeoutStopSec=(\d+)", (DEPLOY / "systemd/asclepius.service").read_text("utf-8"))
    assert max(drain) + 15 <= int(COMPOSE["services"]["app-1"]["stop_grace_period"].removesuffix("s"))
    assert max(drain) + 15 <= int(unit[0])


def test_all_that_the_wheelhouse_is_to_hold_has_a_checksum_and_fits_this_machine(tmp_path: Path) -> None:
    uv = PROJECT / ".uv/bin/uv"
    if not uv.exists():
        pytest.skip("`make install` fetches uv")
    plan = subprocess.run(["make", "-n", "wheelhouse"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert "pip wheel --quiet --require-hashes -r build/wheelhouse/requirements.txt" in plan
    assert "sha256sum * > ../SHA256SUMS" in plan
    export = next(line for line in plan.splitlines() if line.endswith("/requirements.txt") and " export " in line)
    *command, _ = shlex.split(export)
    written = tmp_path / "requirements.txt"
    subprocess.run([*command, str(written), "--offline"], cwd=PROJECT, capture_output=True, check=True)
    lock = tomllib.loads((PROJECT / "uv.lock").read_text("utf-8"))["package"]
    locked = {f"{package['name']}=={package['version']}": package for package in lock if "version" in package}
    fitting = frozenset(sys_tags())
    blocks = re.split(r"^(?=\w)", written.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert len(blocks) > 100
    for block in blocks:
        requirement = Requirement(block.partition("\\")[0])
        if requirement.marker is None or requirement.marker.evaluate():
            package = locked[f"{requirement.name}{requirement.specifier}"]
            # What has no wheel at all is made into one from its source, by the same command.
            files = package.get("wheels") or [package["sdist"]]
            usable = {file["hash"] for file in files if _fits(file["url"].rpartition("/")[2], fitting)}
            assert usable & set(re.findall(r"--hash=(\S+)", block)), requirement.name


def _fits(file: str, tags: frozenset[Tag]) -> bool:
    return not file.endswith(".whl") or bool(parse_wheel_filename(file)[3] & tags)


def rendered(**values: Any) -> dict[str, Any]:
    """The chart's objects by kind, as Helm renders them."""
    helm = pytest.importorskip("helm_python", reason="`make test-deploy` installs Helm")
    with helm.Chart.load(CHART) as chart:
        texts = chart.render(values, name="ward", namespace="clinic")
    documents = [yaml.safe_load_all(text) for path, text in texts.items() if path.endswith(".yaml")]
    return {found["kind"]: found for document in documents for found in document if found}


def test_helm_finds_nothing_to_complain_about() -> None:
    helm = pytest.importorskip("helm_python", reason="`make test-deploy` installs Helm")
    report = helm.lint(CHART, strict=True)
    assert (report["total_charts_linted"], report["errors"]) == (1, [])


def test_the_chart_renders_what_a_cluster_needs() -> None:
    objects = rendered(
        autoscaling={"enabled": True, "targetTurnsActive": 8}, ingress={"enabled": True}, metrics={"podMonitor": True}
    )
    assert set(objects) == {
        "ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PersistentVolumeClaim",
        "PodDisruptionBudget", "PodMonitor", "Service",
    }  # fmt: skip
    pod = objects["Deployment"]["spec"]["template"]
    container = pod["spec"]["containers"][0]
    labels = objects["Deployment"]["spec"]["selector"]["matchLabels"]
    assert labels.items() <= pod["metadata"]["labels"].items()
    for kind, selector in (
        ("Service", "selector"),
        ("NetworkPolicy", "podSelector"),
        ("PodDisruptionBudget", "selector"),
    ):
        found = objects[kind]["spec"][selector]
        assert found.get("matchLabels", found) == labels
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    ports = {port["name"] for port in container["ports"]}
    assert {
        container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    } <= ports
    assert {volume["name"] for volume in pod["spec"]["volumes"]} == {m["name"] for m in container["volumeMounts"]}
    assert "replicas" not in objects["Deployment"]["spec"]


def test_the_chart_drains_within_the_grace_period_and_keeps_its_replicas_without_scaling() -> None:
    objects = rendered()
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    drain = int(objects["ConfigMap"]["data"]["ASCLEPIUS_DRAIN_SECONDS"])
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pause + drain + 15 <= pod["terminationGracePeriodSeconds"]
    assert objects["Deployment"]["spec"]["replicas"] == VALUES["replicaCount"]
