"""verl's agent loop with tools, which here says of each response what its turns and its calls were.

A turn may have as many tokens as the response has left, or `run.turns.tokens`: verl samples on, and throws away what is
too much. A turn that is cut off ends the response, even where a call of a tool stands in it: the tool's answer would
follow a turn without an end, as no conversation has it.
"""

from typing import Any

from verl.experimental.agent_loop.tool_agent_loop import AgentState, ToolAgentLoop

from pacs.integration.exchange import TURNS

#: How verl's texts for the model begin where no tool has answered (`ToolAgentLoop._call_tool`).
UNANSWERED = ("Unknown function '", "Invalid JSON in arguments for '", "Error executing tool '")


class ToolTurns(ToolAgentLoop):  # type: ignore[misc]
    """verl's loop, with `TURNS` among the extra fields of its output."""

    async def _handle_generating_state(
        self, agent_data: Any, sampling_params: dict[str, Any], ignore_termination: bool = False
    ) -> AgentState:
        room = self.response_length - len(agent_data.response_mask)
        most = min(room, self.config.run.turns.tokens or room)
        state = await super()._handle_generating_state(
            agent_data, {**sampling_params, "max_tokens": most}, ignore_termination
        )
        written = agent_data.response_ids
        ends = {self.tokenizer.eos_token_id, *self.tool_parser.stop_token_ids}
        cut = len(written) >= most and written[-1] not in ends
        if cut:
            state = AgentState.TERMINATED
        elif state == AgentState.TERMINATED:
            tools = [tool.tool_schema for tool in agent_data._active_tools.values()]
            _, calls = await self.tool_parser.extract_tool_calls(written, tools)
            cut = bool(calls)  # in the last turn that it may have
        self._said(agent_data)["cut"] = cut
        return state

    async def _handle_processing_tools_state(self, agent_data: Any) -> AgentState:
        state = await super()._handle_processing_tools_state(agent_data)
        if state == AgentState.TERMINATED:  # what the tools have said has no room
            self._said(agent_data)["cut"] = True
        return state

    async def _call_tool(self, tool_call: Any, tools_kwargs: dict[str, Any], agent_data: Any) -> Any:
        response, reward, about = await super()._call_tool(tool_call, tools_kwargs, agent_data)
        said = self._said(agent_data)
        said["calls"] += 1
        said["failed"] += (response.text or "").startswith(UNANSWERED)
        return response, reward, about

    def _said(self, agent_data: Any) -> dict[str, Any]:
        said: dict[str, Any] = agent_data.extra_fields.setdefault(TURNS, {"calls": 0, "failed": 0})
        return said
