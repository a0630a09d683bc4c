"""Corrections to the script and style of Chainlit's page, so that it opens in one go and renders no part of it twice.

They hold for one compiled version of the page. Another version is served as it is, and a test tells that the
corrections need to be adapted.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
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
    # Label the button "Delete", in the destructive colour: Chainlit's says "Confirm" in the ordinary one.
    'f.jsx(ZTe,{onClick:V,children:f.jsx(Ot,{path:"common.actions.confirm"})})': (
        'f.jsx(ZTe,{onClick:V,className:"bg-destructive text-destructive-foreground hover:bg-destructive/90",'
        'children:f.jsx(Ot,{path:"threadHistory.thread.menu.delete"})})'
    ),
    # Say why a file was refused: the reason comes as a problem (RFC 9457), whose type Chainlit does not read.
    'u.includes("application/json")': 'u.includes("json")',
    # Leave the buttons of the header, and the menu that they open, uncovered.
    'className:"toast",position:"top-right"': 'className:"toast",position:"top-center"',
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
    # Let a component subscribe to what it takes of the conversation: the whole page would be rendered again with each
    # piece of text, because some of its parts need the id of the conversation.
    "Rl=()=>{let t=Ln(Xx),e=Ln($6);return{threadId:Ln(Eoe),messages:t,firstInteraction:e}}": (
        "Rl=()=>({get threadId(){return Ln(Eoe)},get messages(){return Ln(Xx)},get firstInteraction(){return Ln($6)}})"
    ),
    # The same for the list of conversations and for the question box, whose parents need the messages.
    "f.jsx(XVn,{": "f.jsx(XVn.m??=E.memo(XVn),{",
    "f.jsx(lnt,{...e}),f.jsx(cYn,{})": "f.jsx(lnt.m??=E.memo(lnt),{...e}),f.jsx(cYn.m??=E.memo(cYn),{})",
    # Compile the code of an element once, while the server opens the conversation.
    'ee.emit("connection_successful"),r(': (
        'ee.emit("connection_successful"),setTimeout(()=>window.asclepiusElement?.then(okn)),r('
    ),
    'okn=t=>akn(t,{transforms:["jsx","typescript","imports"],production:!0}).code.substring(13)': (
        'okn=t=>okn[t]??=akn(t,{transforms:["jsx","typescript","imports"],production:!0}).code.substring(13)'
    ),
    # Load the other icons when a tool has one of them.
    "a=OFe[r];return a?f.jsx(a,{...e}):(": (
        'a=OFe[r]??(kS[r]??=E.lazy(()=>import("./icons.js").catch(()=>({}))'
        ".then(n=>({default:n.default?.(b)[r]??OFe.Wrench}))));"
        "return a?f.jsx(E.Suspense,{children:f.jsx(a,{...e})}):("
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
ICONS: Final = (
    *("book-open", "brain", "calculator", "file-plus", "hourglass", "pill", "plug", "shuffle", "siren", "sparkles"),
    *("message-circle", "thumbs-down", "thumbs-up", "wrench"),
)
"""Icons of our steps and references. Those that neither they nor Chainlit need are a fifth of the script, too."""
ICON: Final = re.compile(r'const ([\w$]+)=\[\["[^;]*?\]\],([\w$]+)=[\w$]+\("([a-z0-9-]+)",\1\);/\*\*.*?\*/', re.DOTALL)
_ICON_NAMES: Final = re.compile(r"(?<=__proto__:null,)AArrowDown:[^}]*(?=\},Symbol)")
VERSION: Final = hashlib.sha256(repr((CORRECTIONS, GAPS, HIGHLIGHTED, ICONS)).encode()).hexdigest()[:12]
"""Part of the address of both, so that a browser that keeps them loads them again when their corrections change."""


def corrected(code: str) -> tuple[str, str]:
    """Return ``code`` with all corrections, few languages to highlight and few icons, and a module of the other icons.

    The code is unchanged when the place of a correction is not there exactly once.
    """
    if any(code.count(place) != 1 for place in CORRECTIONS):
        return code, ""
    for place, replacement in CORRECTIONS.items():
        code = code.replace(place, replacement)
    unused = {function for language, function in LANGUAGE.findall(code) if language not in HIGHLIGHTED}
    code = LANGUAGE.sub(lambda call: "" if call[2] in unused else call[0], code)
    code = _MODULE.sub(lambda module: "" if module[3] in unused else module[0], code)
    used = Counter(re.findall(r"[\w$]+", _ICON_NAMES.sub("", code)))
    others = {icon[2]: icon[0] for icon in ICON.finditer(code) if used[icon[2]] == 1 and icon[3] not in ICONS}
    names = _of_icons(_ICON_NAMES.findall(code)[-1], others.__contains__)
    code = ICON.sub(lambda icon: "" if icon[2] in others else icon[0], code)
    code = _ICON_NAMES.sub(lambda listed: _of_icons(listed[0], lambda icon: icon not in others), code)
    return code, f"export default b=>{{{''.join(others.values())}return{{{names}}}}}"


def _of_icons(names: str, wanted: Callable[[str], bool]) -> str:
    return ",".join(entry for entry in names.split(",") if wanted(entry.partition(":")[2]))
