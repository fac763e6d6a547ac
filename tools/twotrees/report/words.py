"""Every phrase of the reports, once for each language; the Chinese ones are those of the community that reads them.

Templates take keyword fields. A field added here must be given in both languages, which the type checker sees to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from twotrees.errors import UsageError

BODY_REWARDS = "four_body_rewards"


@dataclass(frozen=True)
class Words:
    """The phrases of one language."""

    language: str
    full_stop: str
    faster: str
    slower: str
    equivalent: str
    not_resolved: str
    not_comparable: str
    no_verdict: str
    interval: str
    no_interval: str
    missing_runs: str
    verdicts: Mapping[str, str]
    calibrated: str
    control: str
    control_paired: str
    control_title: str
    no_control: str
    phases: str
    terms: str
    coarse: str
    aggregates: str
    attribution: str
    validity: str
    parity: str
    notes: str
    label: str
    all_phases: str
    lost: str
    pins: str
    host: str
    verify: str
    replicate: str
    against: str
    column_metric: str
    column_before_after: str
    column_saved: str
    column_saved_pct: str
    column_speedup: str
    column_n: str
    column_verdict: str
    column_part: str
    column_before: str
    column_after: str
    column_share_before: str
    column_share_after: str
    column_share_saving: str
    column_check: str
    column_found: str
    column_output: str
    column_max_delta: str
    column_fact: str
    column_value: str
    column_arm: str
    column_commit: str
    column_tree: str
    column_source: str
    column_attempt: str
    column_run: str
    column_status: str
    column_reason: str
    interval_legend: str
    paired_legend: str
    order_legend: str
    titled: str
    terms_legend: str
    coarse_legend: str
    aggregates_legend: str
    attribution_legend: str
    more_rows: str
    more_notes: str
    notes_folded: str
    ok: str
    not_ok: str
    not_checked: str
    no_parity: str
    parity_holds: str
    parity_fails: str
    baseline: str
    interrupted: str
    no_host: str
    not_quiet: str
    host_changed: str
    scale: str
    verify_intro: str
    verify_with_tool: str
    replicate_new: str
    html_language: str
    contents: str
    column_interval: str
    column_mode: str
    column_start: str
    column_wall: str
    column_before_campaign: str
    column_after_campaign: str
    distributions: str
    distribution_of: str
    distribution_legend: str
    no_samples: str
    more_phases: str
    timeline: str
    timeline_legend: str
    no_monitor: str
    all_attempts: str
    all_outputs: str
    all_facts: str
    as_table: str
    control_legend: str
    validity_legend: str
    arms_legend: str
    unknown: str
    fact_study: str
    fact_backend: str
    fact_scale: str
    fact_protocol: str
    fact_created: str
    fact_replicates: str
    watched: Mapping[str, str]
    metric_names: Mapping[str, str]
    part_names: Mapping[str, str]
    check_names: Mapping[str, str]
    asked_first: Mapping[str, str]

    def metric(self, name: str) -> str:
        """A metric's name as readers know it; one that has no other name keeps its own."""
        bare = name.removeprefix("term:")
        if "@" in bare and bare == name:
            base, _, quantile = bare.partition("@")
            return f"{self.metric(base)} {quantile}"
        return self.metric_names.get(bare, bare.removesuffix("_ms") if bare == name else bare)

    def part(self, name: str) -> str:
        """The name of an attribution line."""
        return self.part_names.get(name, name)

    def verdict(self, name: str) -> str:
        """A verdict."""
        return self.verdicts.get(name, name)

    def check(self, name: str) -> str:
        """The name of a validity check."""
        return self.check_names.get(name, name)


_STAGES = {"env_step_total_ms": "env.step", "update_state_ms": "update_state", "reset_done_ms": "reset_done"}

ENGLISH = Words(
    language="en",
    full_stop=".",
    faster="{arm} is faster than {baseline}: {metric} {before} → {after} ms, {pct} % less time, {times}× ({interval})",
    slower="{arm} is SLOWER than {baseline}: {metric} {before} → {after} ms, {more} % more time, {times}× ({interval})",
    equivalent="{arm} and {baseline} are equivalent within ±{delta} %: {metric} {before} → {after} ms ({interval})",
    not_resolved=(
        "It is not resolved whether {arm} is faster than {baseline}: "
        "{metric} {before} → {after} ms ({interval}; {reason})"
    ),
    not_comparable="NOT COMPARABLE, no speed follows from this campaign: {failures}",
    no_verdict="No verdict: no quantity has usable runs in both arms",
    interval="{confidence} % interval {low} to {high} % saved; n = {n_before} + {n_after} runs",
    no_interval="no interval; n = {n_before} + {n_after} runs",
    missing_runs="{missing} of {planned} planned runs have no result that counts",
    verdicts={},
    calibrated="Calibrated on this host, A against A changed {metric} by {low} to {high} %.",
    control="A/A control: two runs of one and the same arm differ by up to {spread} % in {metric} (n = {runs}).",
    control_paired="What both arms of a pair share is in this spread, and not in the paired estimate.",
    control_title="A/A control",
    no_control="A/A control: none, an arm has fewer than two runs.",
    phases="Phases",
    terms="Terms",
    coarse="Managers and refreshes",
    aggregates="Aggregates",
    attribution="Attribution",
    validity="Validity",
    parity="Parity",
    notes="Notes",
    label="Label",
    all_phases="All phases",
    lost="Attempts that do not count",
    pins="Pins",
    host="Host",
    verify="Verify as a stranger",
    replicate="Replicate",
    against="{arm} against {baseline}",
    column_metric="quantity",
    column_before_after="before → after (ms)",
    column_saved="saved (ms)",
    column_saved_pct="saved (%)",
    column_speedup="speed-up (×)",
    column_n="n",
    column_verdict="verdict",
    column_part="part",
    column_before="before (ms)",
    column_after="after (ms)",
    column_share_before="share before (%)",
    column_share_after="share after (%)",
    column_share_saving="of the saving (%)",
    column_check="check",
    column_found="found",
    column_output="output",
    column_max_delta="largest |Δ|",
    column_fact="fact",
    column_value="value",
    column_arm="arm",
    column_commit="commit",
    column_tree="tree id",
    column_source="source",
    column_attempt="attempt",
    column_run="run",
    column_status="status",
    column_reason="reason",
    interval_legend="[ ] = {confidence} % interval; n = runs of each arm; smallest effect worth naming ±{delta} %.",
    paired_legend=(
        "Saved, per cent and × are estimated from pairs of runs; "
        "they need not be the difference and the quotient of the two medians."
    ),
    order_legend=(
        "The order of the runs was not balanced: a verdict has to clear what the order alone may have made, "
        "at least {allowance} % here."
    ),
    titled="{title}: {against}",
    terms_legend="A complete call of each term, instrumented runs. What a term triggers (a refresh) is charged to it.",
    coarse_legend="These contain the terms: do not add them to the table above.",
    aggregates_legend="Published sums of terms; they overlap, so their savings do not add.",
    attribution_legend=(
        "Disjoint: the lines add up to the stage without probes; the residual is what probes and medians leave over. "
        "Read the parts by order of magnitude."
    ),
    notes_folded="More notes ({count})",
    more_notes="… and {count} more in data/aggregate.json",
    more_rows="… and {count} more, each saving at most {most} ms in size",
    ok="ok",
    not_ok="NOT OK",
    not_checked="not recorded",
    no_parity="No parity record: whether the arms compute the same things was not checked.",
    parity_holds="Holds: {count} outputs over {steps} steps of {num_envs} environments agree within {tolerance}.",
    parity_fails="FAILS: {failed} of {count} outputs differ by more than {tolerance}.",
    baseline="baseline",
    interrupted="The campaign was resumed {count} time(s).",
    not_quiet="The host was not quiet",
    no_host="No host facts were recorded.",
    host_changed="Changed during the campaign",
    scale="{num_envs} environments, {warmup} warm-up and {measure} measured steps",
    verify_intro="In the bundle's folder, with an allowed_signers file of your own:",
    verify_with_tool="The toolkit checks the same and the meaning of every number:",
    replicate_new="The same campaign on a host of your own, from a checkout with the same CHECKSUMS:",
    html_language="en",
    contents="Contents",
    column_interval="interval",
    column_mode="mode",
    column_start="start",
    column_wall="wall (s)",
    column_before_campaign="before the campaign",
    column_after_campaign="after it",
    distributions="Every run",
    distribution_of="{metric}: every measured step of every run",
    distribution_legend=(
        "Each dot is one step; across is its time, down is the order in which it was measured, so a drift leans. "
        "The stroke is the run's median."
    ),
    no_samples="The profiler kept no samples of single steps; only summaries exist.",
    more_phases="More phases ({count})",
    timeline="In time",
    timeline_legend="Runs in the order in which they ran, and what the host did meanwhile.",
    no_monitor="The monitor recorded nothing during the campaign.",
    all_attempts="All {count} attempts",
    all_outputs="All {count} outputs",
    all_facts="All {count} facts",
    as_table="As a table",
    control_legend=(
        "Above: runs of one arm around their own median, which is what no change looks like. "
        "Below: the effect with its interval. Both as change of time in per cent."
    ),
    validity_legend="In the order in which they can void the comparison.",
    arms_legend="The arms; the first is the baseline.",
    unknown="unknown",
    fact_study="study",
    fact_backend="backend",
    fact_scale="scale",
    fact_protocol="protocol",
    fact_created="begun",
    fact_replicates="replicates",
    watched={},
    metric_names={
        **_STAGES,
        BODY_REWARDS: "four body rewards",
        "target_five": "five target terms",
        "all_reward_termination": "all reward + termination terms",
        "other_reward_termination": "other reward + termination terms",
        "observation_term_calls": "observation terms",
        "observation_post_concat_residual": "observation post/concat",
        "two_robot_state_refreshes": "two refreshes",
    },
    part_names={
        BODY_REWARDS: "four body rewards",
        "refresh_first_read": "refresh, first_read",
        "refresh_force": "refresh, force",
        "anchor_pos_net": "anchor_pos net of first_read",
        "other_terms": "other reward + termination terms",
        "command_compute": "command compute",
        "command_post_compute_net": "command post_compute net of force",
        "observation_compute": "observation compute",
        "residual": "residual",
        "update_state": "update_state without probes",
    },
    check_names={},
    asked_first={},
)

CHINESE = Words(
    language="zh",
    full_stop="。",
    faster="{arm} 比 {baseline} 快：{metric} 从 {before} ms 降至 {after} ms，节省 {pct}%，即 {times}×（{interval}）",
    slower="{arm} 比 {baseline} 更慢：{metric} 从 {before} ms 升至 {after} ms，多用 {more}%，即 {times}×（{interval}）",
    equivalent="{arm} 与 {baseline} 在 ±{delta}% 内等价：{metric} {before} → {after} ms（{interval}）",
    not_resolved="无法判定 {arm} 是否比 {baseline} 快：{metric} {before} → {after} ms（{interval}；{reason}）",
    not_comparable="不可比较，本次测量不能得出任何性能结论：{failures}",
    no_verdict="无结论：没有任何指标在两个 arm 中都有可用的 run",
    interval="节省的 {confidence}% 区间为 {low}% 至 {high}%；n = {n_before} + {n_after} 次独立运行",
    no_interval="无区间；n = {n_before} + {n_after} 次独立运行",
    missing_runs="计划的 {planned} 个 run 中有 {missing} 个没有可用结果",
    verdicts={
        "faster": "更快",
        "slower": "更慢",
        "equivalent": "等价",
        "not resolved": "无法判定",
        "not comparable": "不可比较",
    },
    calibrated="本机校准：A 对 A 时 {metric} 变化 {low} 至 {high}%。",
    control="A/A 对照：同一 arm 的两次运行之间，{metric} 最多相差 {spread}%（n = {runs}）。",
    control_paired="成对的两次运行共有的波动包含在此差异中，但不影响成对估计。",
    control_title="A/A 对照",
    no_control="A/A 对照：无，有的 arm 不足两次运行。",
    phases="阶段与端到端 A/B",
    terms="完整热点 term A/B",
    coarse="manager 与 refresh",
    aggregates="聚合结果",
    attribution="收益归因",
    validity="有效性检查",
    parity="数值一致性（parity）",
    notes="说明",
    label="标签",
    all_phases="全部阶段",
    lost="不计入的运行",
    pins="精确复现信息",
    host="硬件 / 系统 / runtime",
    verify="第三方校验",
    replicate="复测",
    against="{arm} 相对 {baseline}",
    column_metric="指标",
    column_before_after="优化前 → 优化后 (ms)",
    column_saved="节省 (ms)",
    column_saved_pct="节省 (%)",
    column_speedup="加速 (×)",
    column_n="n",
    column_verdict="判定",
    column_part="分区",
    column_before="优化前 (ms)",
    column_after="优化后 (ms)",
    column_share_before="优化前占比 (%)",
    column_share_after="优化后占比 (%)",
    column_share_saving="占总节省 (%)",
    column_check="检查项",
    column_found="结果",
    column_output="输出",
    column_max_delta="最大 |Δ|",
    column_fact="项目",
    column_value="本次环境",
    column_arm="arm",
    column_commit="commit",
    column_tree="tree id",
    column_source="来源",
    column_attempt="尝试",
    column_run="run",
    column_status="状态",
    column_reason="原因",
    interval_legend="[ ] 为 {confidence}% 区间；n 为每个 arm 的独立运行次数；低于 ±{delta}% 的差异不作判定。",
    paired_legend="节省、百分比与倍数由成对运行估计，不必等于两个 median 之差与商。",
    order_legend="运行顺序未平衡：判定还须超出顺序本身可能造成的差异，此处至少 {allowance}%。",
    titled="{title}：{against}",
    terms_legend="每个 term 的完整 callable，埋点运行；该调用触发的 refresh 也计在其名下。",
    coarse_legend="这些项包含上表的 term，不能与上表相加。",
    aggregates_legend="按已发布口径求和的 term；各项互有重叠，节省不能相加。",
    attribution_legend="各分区互不重叠，合计等于无埋点阶段值；residual 为埋点与 median 未覆盖的部分，只应按量级读。",
    notes_folded="其余说明（{count}）",
    more_notes="… 另有 {count} 条，见 data/aggregate.json",
    more_rows="… 另有 {count} 项，每项变化不超过 {most} ms",
    ok="通过",
    not_ok="未通过",
    not_checked="未记录",
    no_parity="没有 parity 记录：未核对两个 arm 是否计算相同的结果。",
    parity_holds="通过：{num_envs} envs × {steps} steps 的 {count} 项输出在容差 {tolerance} 内一致。",
    parity_fails="未通过：{count} 项输出中有 {failed} 项超出容差 {tolerance}。",
    baseline="基线",
    interrupted="本次测量曾中断并续跑 {count} 次。",
    not_quiet="主机不安静",
    no_host="没有记录硬件信息。",
    host_changed="测量期间发生变化",
    scale="{num_envs} envs，warmup {warmup} steps，measure {measure} steps",
    verify_intro="在 bundle 目录中，使用自己的 allowed_signers 文件：",
    verify_with_tool="工具会做同样的检查，并核对每个数字的含义：",
    replicate_new="在自己的机器上，用 CHECKSUMS 相同的检出重新执行同一测量：",
    html_language="zh-CN",
    contents="目录",
    column_interval="区间",
    column_mode="mode",
    column_start="开始时间",
    column_wall="耗时 (s)",
    column_before_campaign="测量前",
    column_after_campaign="测量后",
    distributions="每次运行的分布",
    distribution_of="{metric}：每次运行的全部 step",
    distribution_legend=(
        "每个点为一个 step：横向为耗时，纵向自上而下为测量顺序，因此漂移表现为倾斜；竖线为该次运行的 median。"
    ),
    no_samples="profiler 未保留单个 step 的样本，只有汇总值。",
    more_phases="其余阶段（{count}）",
    timeline="时间顺序",
    timeline_legend="各次运行的实际先后顺序，以及期间的主机状态。",
    no_monitor="测量期间没有主机监测记录。",
    all_attempts="全部 {count} 次尝试",
    all_outputs="全部 {count} 项输出",
    all_facts="全部 {count} 项",
    as_table="以表格显示",
    control_legend=(
        "上方为同一 arm 的各次运行相对其自身 median 的偏差，即“没有变化”时的样子；"
        "下方为本次效应及其区间。单位均为耗时变化的百分比。"
    ),
    validity_legend="按可使比较失效的先后顺序排列。",
    arms_legend="各 arm；第一个为基线。",
    unknown="未知",
    fact_study="study",
    fact_backend="backend",
    fact_scale="规模",
    fact_protocol="协议",
    fact_created="开始时间",
    fact_replicates="复测对象",
    watched={
        "frequency": "频率",
        "temperature": "温度",
        "load": "负载",
        "busy": "CPU 占用",
        "steal": "steal",
        "gpu clock": "GPU 频率",
        "gpu temperature": "GPU 温度",
    },
    metric_names={
        **_STAGES,
        BODY_REWARDS: "四个 body rewards",
        "target_five": "五个目标完整 term",
        "all_reward_termination": "所有 reward + termination",
        "other_reward_termination": "其余 reward + termination",
        "observation_term_calls": "observation getter terms",
        "observation_post_concat_residual": "observation post/concat residual",
        "two_robot_state_refreshes": "两次 refresh 合计",
    },
    part_names={
        BODY_REWARDS: "四个 body rewards",
        "refresh_first_read": "首次 refresh（first_read）",
        "refresh_force": "第二次 refresh（force）",
        "anchor_pos_net": "anchor_pos 扣除首次 refresh 后",
        "other_terms": "其余 reward + termination",
        "command_compute": "command_manager.compute",
        "command_post_compute_net": "command_manager.post_compute 扣除第二次 refresh 后",
        "observation_compute": "observation_manager.compute",
        "residual": "未覆盖 residual",
        "update_state": "update_state（无埋点）",
    },
    check_names={
        "runs": "run 齐全",
        "environment": "依赖环境",
        "instrumentation": "埋点",
        "scale": "规模",
        "seeds": "随机种子",
        "provenance": "源码来源",
        "variables": "环境变量",
        "config": "配置",
        "decisions": "自动调优结果",
        "workload": "workload",
        "warm": "预热",
        "parity": "数值一致性（parity）",
    },
    asked_first={
        "cores": "核心数",
        "threads": "线程数",
        "usable": "可用核心",
        "memory (GiB)": "内存 (GiB)",
        "system": "系统",
        "container": "容器",
        "virtualization": "虚拟化",
    },
)

LANGUAGES = {words.language: words for words in (ENGLISH, CHINESE)}


def words_of(language: str) -> Words:
    """The phrases of *language*.

    Raises:
        UsageError: there are none.
    """
    if language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise UsageError(f"there is no report in {language!r}", key="report.language", mend=f"use one of: {known}")
    return LANGUAGES[language]
