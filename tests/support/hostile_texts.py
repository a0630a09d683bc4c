"""Texts that an answer may hold and that Markdown likes to change: clinical notation, markup characters, code, attacks.

``PLAIN`` are shown character by character as they are sent. ``MARKED`` hold markup that is meant: each with what the
reader sees.
"""

from __future__ import annotations

from itertools import product

_GENES = ["HER2:negative", "BRCA1:c.68_69delAG", "NM_007294.4:c.68_69delAG", "chr17:g.41276045", "KRAS:p.Gly12Asp",
          "EGFR:exon19del", "ALK::EML4", "BCR::ABL1", "rs1801133:C>T", "p.(Arg117His)", "c.1521_1523delCTT"]
_ALLELES = ["HLA-B*57:01", "HLA-B*58:01", "CYP2C19*2/*17", "CYP2D6*4", "DPYD*2A", "TPMT*3C", "UGT1A1*28/*28",
            "HLA-DRB1*04:01", "SLCO1B1*5", "NUDT15*3"]
_RATIOS = ["1:1000", "a:b", "FEV1:FVC < 0.7", "dose:response", "INR:target 2–3", "P:F ratio", "I:E 1:2", "TID:PRN",
           ":smile:", "a::b", "x:::y", ":::note", "::leaf", ":a[b]{c}", "Na+:K+", "12:30", "at 08:00:take 1"]
_ALERTS = [":::info\nText\n:::", ":::warning\nDo not give\n:::", "::alert[x]{type=info}", ":info[x]"]
_STARS = ["5*3*2", "2*3", "a*b*c", "5 * 3 * 2", "*", "**", "***x", "x**", "10 mg*", "10 mg* daily, 5 mg* at night",
          "*2 and *17", "(*) see note (*)", "2**3**4", "n*m", "1*2*3*4*5", "dose*weight*time"]
_UNDERSCORES = ["snake_case_name", "c.68_69delAG_x", "Name: ____ Dose: ____", "(____) and (____)", "_", "__", "a_b_c"]
_TILDES = ["5~10 or 20~30", "~5 mg ~10 mg", "a ~~b~~ c", "~ 3 days", "~~~", "10~20~30 mg"]
_ANGLES = ["<script>alert(1)</script>", "<b>x</b>", "</div>", "<!-- hidden -->", "<5 mg", "a<b>c", "p<0.05", "x <y> z",
           "<img src=x onerror=alert(1)>", "<https://x.org>", "<a@b.org>", "<?php ?>", "<![CDATA[x]]>", "a << b >> c",
           "<details><summary>x</summary></details>", "<br>", "<br/>", "1<2 and 3>2", "<style>*{}</style>",
           "<iframe src=//x.org></iframe>", "<svg onload=alert(1)>", "<sub>2</sub>"]
_ENTITIES = ["&lt;", "&amp;", "&nbsp;x", "&copy;", "&#65;", "&#x41;", "&notanentity;", "AT&T", "a & b", "&", "R&D;x"]
_BRACKETS = ["[x]", "[x](y)", "[x]: y", "[^1]", "[^1]: note", "![x](https://evil.example/p.png)", "[ ] open", "[x] done",
             "[a][b]", "[click](javascript:alert(1))", "![](data:image/png;base64,AA)", "[[wiki]]", "[1,2]", "(a)[b]",
             "[<b>](x)", "] [", "[a](<b c>)", "[1] and [2]"]
_BACKSLASHES = [r"\frac{a}{b}", r"\(x^2\)", r"\[y\]", r"C:\temp\new", "\\", r"\\", r"a\b", r"\n", r"\{x\}", r"50\%",
                r"\alpha:\beta", r"\text{GFR} = 186 \times Cr^{-1.154}", r"$x_1 + x_2$", "$5 and $10", "$$a$$", r"\&"]
_QUOTES = ["> 65 years", ">65", ">=5 mg", "> 3 × ULN", ">> much", "- ", "a\n> 65 years", ">", "≥ 5", "> 5\n> 10"]
_LINES = ["a\n===", "=", "= 5 mg", "==5", "a\nb\nc", "a\n\nb", "-", "--", "a\n-", "+ positive", "+", "+5", "1)", "1) a", "2.",
          "2) a\n1) b", "#5", "#", "##", "#tag", "######7", "1.5 mg", "-5 °C", "–5", "- -", "1986", "*\n*", "___x", "| a",
          "a | b", "|", "||", "a || b", "|a|b|", "a|b\nc|d", "---|---", "--- | --- | ---"]
_SPACES = ["    four spaces", "  two spaces", "a\n    b", "a\n     b\n  c", "\ttab", "a  b", "a   b    c", "a  \nb", "x\n\n    y",
           "Na   140\nK    4.0\nCl   104", " \u00a0x", "a\u2003b", "a\u2028b"]
_CODE = ["`open", "``", "`", "a ` b", "```", "``` a", "`a``b", "`a:b", "~~~ x", "'quoted'", '"x"', "a`b:c"]
_URLS = ["https://x.org/a:b", "see https://x.org/a_b*c*d.", "www.x.org/a:b", "http://localhost:8000/a:b",
         "(https://x.org/a(b))", "https://x.org/?a=1&b=2&copy=3", "ftp://x.org/a:b", "mailto:a@b.org", "a@b.org:c",
         "doi:10.1000/182", "urn:isbn:0451450523", "https://[x](y)", "http://a_b:c", "https://x.org/~a~b"]
_UNITS = ["µg/kg/min", "10⁹/L", "m²", "H₂O", "CO₂", "β-blocker", "≥ 140/90 mmHg", "±0.5", "→ ↑ ↓", "½ tablet", "№ 5", "37.5 °C",
          "éàü ñ ß", "日本語:文字", "العربية: نص", "🙂:x", "a\u0301", "СКФ:мл", "½:¼", "5′-AMP", "Ca²⁺:Mg²⁺", "100 %", "‰"]
_LONG = ["x" * 3000, "word " * 400 + "end", "a:b " * 300 + "end", "*x" * 200, "[" * 300, "`" * 51 + "x", "1*2" * 100, ":" * 100 + "a"]
_NOT = ["Do not give.", "do **not", "not* for", "(not)", "not:given", "no_t", "n~ot~", "<not>", "[not](x)", "`not"]
_TAGS = [f"<{tag}>:{tag}" for tag in ("a", "b", "p", "div", "span", "table", "video", "object", "form", "input", "link",
                                    "meta", "base", "math", "template", "xmp", "plaintext", "textarea", "title", "body")]
_MIXED = [f"{a} {b}" for a, b in product(
    ("HER2:neg", "5*3*2", "<b>", "[x](y)", "5~6", "`a:b", "a_b", "&lt;", r"\(x\)", "HLA-B*57:01"),
    ("ER:pos", "2*3", "</b>", "[z]: w", "7~8", "c:d", "_x_y", "&amp;", r"\[y\]", "*5801"),
)]

PLAIN: list[str] = [
    text for group in (_GENES, _ALLELES, _RATIOS, _ALERTS, _STARS, _UNDERSCORES, _TILDES, _ANGLES, _ENTITIES, _BRACKETS,
                       _BACKSLASHES, _QUOTES, _LINES, _SPACES, _CODE, _URLS, _UNITS, _LONG, _NOT, _TAGS, _MIXED)
    for text in group
]

MARKED: list[tuple[str, str]] = [
    ("**HER2:negative** and *it*", "HER2:negative and it"),
    ("# Dose:max\ntext:x", "Dose:max\ntext:x"),
    ("`5*3*2` and `HER2:neg`", "5*3*2 and HER2:neg"),
    ("``a`b:c``", "a`b:c"),
    ("```\nHER2:neg\n  5*3*2 <b>\n```", "HER2:neg\n  5*3*2 <b>"),
    ("```python\nx: int = 5*3*2\n```\nafter:wards", "x: int = 5*3*2\nafter:wards"),
    ("- HER2:neg\n- 5*3*2\n  - nested:x", "HER2:neg\n5*3*2\nnested:x"),
    ("- >65 years\n- <5 mg\n- > 3 × ULN", ">65 years\n<5 mg\n> 3 × ULN"),
    ("| a:b | c |\n|---|---|\n| HER2:neg | 5*3*2 |\n| 1 | 2 | 3 |", "a:b\tc\nHER2:neg\t5*3*2\n1\t2 | 3"),
    ("| a | b |\n|:--|--:|\n| `x|y:z` | <b> |", "a\tb\nx|y:z\t<b>"),
    ("> quoted:words here", "quoted:words here"),
    ("a\n\n---\n\nb:c", "a\nb:c"),
    ("a\n---\nb:c", "a\nb:c"),
    (r"a \* b \_ c", "a * b _ c"),
    ("**a**b:c", "ab:c"),
    ("text  \nnext:x", "text\nnext:x"),
]
