"""Corrections to the script and style of Chainlit's page, so that it opens in one go and renders no part of it twice.

They hold for one compiled version of the page. Another version is served as it is, and a test tells that the
corrections need to be adapted.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

CORRECTIONS: Final = {
    # Build the page only when its user and settings are known. Chainlit also builds one before, whose text is lost.
    ",!c&&e?null:f.jsxs(aGn": ",!c&&(e||!r)?null:f.jsxs(aGn",
    # Open the conversation of the address with the first connection. Chainlit connects for a new conversation first.
    'Tve=yr({key:"ThreadIdToResume",default:void 0})': (
        'Tve=yr({key:"ThreadIdToResume",default:void 0,effects:[({setSelf:e})=>'
        "{const t=/\\/thread\\/([^/]+)$/.exec(location.pathname);t&&e(t[1])}]})"
    ),
    # Leave a conversation before it is deleted: its page would open it again until it is gone.
    "(l===o||l===c)&&(s(),await": '(l===o||l===c)&&(i("/"),s(),await',
    "(r(),a(t),n!=null&&n.dataPersistence": "(t===o&&!i||(r(),a(t)),n!=null&&n.dataPersistence",
    # Connect at once: a delay joins no two connections, because another conversation is another function.
    "oe=E.useCallback(ti.debounce(V,200),[V])": "oe=E.useCallback(ti.debounce(V,0),[V])",
    # Show a conversation when its messages come. Chainlit shows the start page until then.
    "{c(Q.interaction),X(Q.thread_id)}": '{c(Q.interaction),Q.interaction==="resume"||X(Q.thread_id)}',
    # Compare the elements of the message, not the list of all elements, which changes with every answer.
    "t.elements===e.elements&&": "ti.isEqual(...[t,e].map(n=>n.elements.filter(r=>r.forId===n.message.id)))&&",
    # Keep the components between two pieces of text: React would build every paragraph again for new ones, and a
    # selection in it would be lost. Highlighting changes a code block behind React's back, so that one stays new.
    "components:{...m8e,code(l)": "components:{...E.useMemo(()=>({...m8e,code(l)",
    "return m8e.Alert({variant:h,children:u})}},children:i})}": (
        "return m8e.Alert({variant:h,children:u})}}),[r&&r.length?r:0]),"
        "pre({children:l,...u}){return f.jsx(C9n,{...u})}},children:i})}"
    ),
    # The buttons of a message need the first question only for a debugger that is not offered here.
    '{firstInteraction:i}=Rl(),o=t.type==="user_message"': '{firstInteraction:i}={},o=t.type==="user_message"',
    # Compile the code of an element once, while the server opens the conversation.
    'ee.emit("connection_successful"),r(': (
        'ee.emit("connection_successful"),setTimeout(()=>window.asclepiusElement?.then(okn)),r('
    ),
    'okn=t=>akn(t,{transforms:["jsx","typescript","imports"],production:!0}).code.substring(13)': (
        'okn=t=>okn[t]??=akn(t,{transforms:["jsx","typescript","imports"],production:!0}).code.substring(13)'
    ),
}
GAPS: Final = (">:not([hidden])~:not([hidden])", ">:not(:first-child)")
"""The selector of the gaps in Chainlit's style, and ours. For a sibling without a name, a browser computes the style of
the whole conversation again when a message comes or goes."""
HIGHLIGHTED: Final = ("json", "plaintext")
"""Languages whose code the page highlights, of 190 that are a fifth of Chainlit's script."""
LANGUAGE: Final = re.compile(r'[\w$]+\.registerLanguage\("([^"]+)",([\w$]+)\(\)\);')
_MODULE: Final = re.compile(
    r"var ([\w$]+),([\w$]+);function ([\w$]+)\(\)\{if\(\2\)return \1;\2=1;.*?return \1=[\w$]+,\1\}", re.DOTALL
)
VERSION: Final = hashlib.sha256(repr((CORRECTIONS, GAPS, HIGHLIGHTED)).encode()).hexdigest()[:12]
"""Part of the address of both, so that a browser that keeps them loads them again when their corrections change."""


def corrected(code: str) -> str:
    """Return ``code`` with all corrections and few languages to highlight.

    It is unchanged when the place of a correction is not there exactly once.
    """
    if any(code.count(place) != 1 for place in CORRECTIONS):
        return code
    for place, replacement in CORRECTIONS.items():
        code = code.replace(place, replacement)
    unused = {function for language, function in LANGUAGE.findall(code) if language not in HIGHLIGHTED}
    code = LANGUAGE.sub(lambda call: "" if call[2] in unused else call[0], code)
    return _MODULE.sub(lambda module: "" if module[3] in unused else module[0], code)
