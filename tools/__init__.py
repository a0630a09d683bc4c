"""Tools that a model may call; knows nothing of the app."""

from typing import TYPE_CHECKING

from tools.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from tools.errors import ToolError as ToolError
    from tools.function_tool import FunctionTool as FunctionTool
    from tools.tool_manager import ToolManager as ToolManager
    from tools.types import Function as Function
    from tools.types import FunctionDefinition as FunctionDefinition
    from tools.types import FunctionOutput as FunctionOutput
    from tools.types import FunctionType as FunctionType
    from tools.types import Passage as Passage
    from tools.types import Phrase as Phrase
    from tools.types import StreamingFunctionOutput as StreamingFunctionOutput
    from tools.types import ToolPresentation as ToolPresentation
    from tools.types import ToolProgress as ToolProgress
    from tools.types import ToolResult as ToolResult

__getattr__ = lazy_exports(__name__)
