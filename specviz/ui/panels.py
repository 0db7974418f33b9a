"""Which panels are shown: the user's wishes, and how much room there is.

In a narrow window there is room for one side panel: the charts give way to the setup, until the
user asks for them instead. The wishes for a wide window are kept meanwhile. Knows no widget.
"""

from __future__ import annotations

LEFT, RIGHT, STRIP = "left", "right", "strip"
PANELS = (LEFT, RIGHT, STRIP)


class PanelWishes:
    """What the user wants shown, in a wide window and in a narrow one."""

    def __init__(self) -> None:
        self.narrow = False
        self._wide = dict.fromkeys(PANELS, True)
        self._narrow_side: str | None = LEFT

    def shown(self, panel: str) -> bool:
        """Whether a panel is to be shown now."""
        if self.narrow and panel != STRIP:
            return panel == self._narrow_side
        return self._wide[panel]

    def set_shown(self, panel: str, shown: bool) -> None:
        """The user wants a panel shown or hidden; in a narrow window the other side makes room."""
        if not self.narrow or panel == STRIP:
            self._wide[panel] = shown
        elif shown:
            self._narrow_side = panel
        elif self._narrow_side == panel:
            self._narrow_side = None

    def set_narrow(self, narrow: bool) -> bool:
        """Say whether there is room for one side panel only; True when that is news."""
        if narrow == self.narrow:
            return False
        self.narrow = narrow
        self._narrow_side = LEFT if self._wide[LEFT] else None
        return True

    def state(self) -> dict[str, bool]:
        """The wishes for a wide window, to remember."""
        return dict(self._wide)

    def restore(self, state: object) -> None:
        """Take up remembered wishes; anything odd among them is ignored."""
        if isinstance(state, dict):
            for panel in PANELS:
                if isinstance(state.get(panel), bool):
                    self._wide[panel] = state[panel]
            self._narrow_side = LEFT if self._wide[LEFT] else None
