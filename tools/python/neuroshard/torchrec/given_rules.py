"""Rules and groups of tables that a user gives by names of tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from neuroshard._core import TableGroup, TableRules
from neuroshard.errors import Error
from neuroshard.torchrec.model_tables import Constraints, ModelTable

# By the full name of a table, or by its name in its module, for all tables of this name.
Rules = Mapping[str, TableRules]


class GivenRules(NamedTuple):
    rules: Rules = {}
    together: Sequence[Sequence[str]] = ()
    apart: Sequence[Sequence[str]] = ()

    def check(self) -> None:
        """Raises Error if something belongs into constraints, or a group is too small or names a table twice."""
        for name, rules in self.rules.items():
            if not isinstance(rules, TableRules):
                raise Error(f"rules: those of table {name} are {rules!r}; give TableRules(...)")
            for rule, constraint in (
                ("kinds", "sharding_types"),
                ("min_width", "min_partition"),
                ("hbm_share", "cache_params"),
            ):
                if getattr(rules, rule):
                    raise Error(f"rules: {rule} of table {name} are not used; give {constraint} of its constraints")
        for argument, groups in (("keep_together", self.together), ("keep_apart", self.apart)):
            for names in groups:
                if isinstance(names, str) or len(names) < 2:
                    raise Error(f"{argument}: {names!r} is no group; give a list of groups, each of at least two names")
                for name in names:
                    if list(names).count(name) > 1:
                        raise Error(f"{argument}: {names!r} names table {name} twice; name each table once")

    def give(self, tables: Sequence[ModelTable], constraints: Constraints) -> None:
        """Says to `tables` what they keep to. Raises Error if one is none of them, or cannot keep to it."""
        known = {name for table in tables for name in (table.full_name, table.name)}
        for argument, names in (
            ("rules", self.rules),
            ("keep_together", [name for group in self.together for name in group]),
            ("keep_apart", [name for group in self.apart for name in group]),
        ):
            unknown = sorted(set(names) - known)
            if unknown:
                raise Error(
                    f"{argument}: the model has no table {', '.join(unknown)}; it has "
                    + ", ".join(table.full_name for table in tables)
                )
        for argument, groups in (("keep_together", self.together), ("keep_apart", self.apart)):
            for group in groups:
                if len(list(_places(group, tables))) < 2:
                    raise Error(f"{argument}: {group!r} are names of one table; name each table once")
        grouped = {name for group in [*self.together, *self.apart] for name in group}
        for table in tables:
            table.given_rules = self.rules.get(table.full_name, self.rules.get(table.name))
            table.is_grouped = table.full_name in grouped or table.name in grouped
            if table.given_rules and table.given_rules.keep_in_hbm and table.is_only_cached():
                raise Error(
                    f"rules: keep_in_hbm of table {table.full_name}: constraints let it be nothing but cached; let their "
                    "compute_kernels have fused"
                )
            if table.is_ruled() and not table.rules(constraints, row_blocks=True).kinds:
                raise Error(
                    f"{table.argument_of_rules()}: TorchRec could keep table {table.full_name} to it in one piece or in "
                    "columns alone; let sharding_types of its constraints have table_wise or column_wise"
                )

    def groups(self, tables: Sequence[ModelTable]) -> list[TableGroup]:
        """Groups of those of `tables` that are in one, by their places."""
        made = []
        for keep, groups in (("together", self.together), ("apart", self.apart)):
            for names in groups:
                places = list(_places(names, tables))
                if len(places) > 1:
                    made.append(TableGroup(places, keep, name=", ".join(names)))
        return made


def _places(names: Iterable[str], tables: Sequence[ModelTable]) -> Iterable[int]:
    wanted = set(names)
    return (place for place, table in enumerate(tables) if wanted & {table.full_name, table.name})
