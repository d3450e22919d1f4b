"""The kernels of a program, as text. They work on the arrays of one partition, with one array per field, and do not
depend on the partitioning policy.

Arrays: states, inboxes and columns of the local vertices (including `number` and `degree`), CSR rows as `indptr int64,
neighbours uint32`, and one array per edge column. The arguments of a kernel are named (`Source.kernels`); `lo` and `hi`
are its range of rows:

    begin    rows lo:hi run `start`
    first    rows lo:hi run `seed`; rows with a message are listed in queue[lo:]. Returns their number
    fire     accumulative: frontier[lo:hi] apply their inboxes; vertices that must send are listed in queue[lo:].
             Returns their number
             synchronous: rows lo:hi apply their inboxes, after copying the fields that `before_...` names. Returns how
             many have changed
    emit     synchronous: computes the messages of rows lo:hi, if they are the same along all edges of a vertex
    mark     synchronous: flags the vertices whose messages, which are vectors, are not the identity
    sweep    accumulative: rows lo:hi apply their inboxes one after the other, and each sends along its edges
             immediately. Returns how many fired, how many sent, and along how many edges. One thread per partition
    push     senders[lo:hi] send along their out-edges (CSR). Returns the length of the queue. One thread per partition
    pull     rows lo:hi (CSC) gather from all their in-edges: from `sent_...`, or from the `sending` vertices
    recount  like `pull`, but only rows whose `slack` is below 0, which get a new slack (see `RecountState`)
    receive  merges messages from another partition for the vertices ids[lo:hi]. Returns the length of the queue. One
             thread per partition
    fold     folds rows lo:hi into the global values that rounds read; `conclude` does so for values that only results
             read
    finish   computes the results of rows lo:hi
    settled  like `finish`, when messages are waiting that have not been applied

`fire`, `pull` and `fold` write only their own rows, so threads may run them on several ranges at once. An inbox whose
merges are all idempotent is never emptied, so only a better message changes it; any other inbox holds the identity
after `fire`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from dgraph.codegen.bounds import smaller_wins
from dgraph.codegen.edge_kernels import EdgeKernelWriter
from dgraph.codegen.neighbourhood_merges import recounts
from dgraph.codegen.text import (
    AT_ROW,
    NO_LOCALS,
    KernelText,
    any_message,
    call,
    identities,
    item,
    literal,
    merged_text,
    vector_sums,
)
from dgraph.programs.analysis import Analysis, PhaseAnalysis, Reads
from dgraph.programs.kernel_names import before_name, field_name, inbox_name, phase_name, sent_name
from dgraph.programs.program import Delta, State


class KernelWriter:
    """Writes all kernels of a program for a CPU thread; `cuda/cuda_kernels.py` writes them for a grid of threads."""

    edge_writer: type[EdgeKernelWriter] = EdgeKernelWriter

    def __init__(self, analysis: Analysis, arrays: dict):
        self.analysis, self.arrays, self.width = analysis, arrays, analysis.width
        self.kept_states = kept_states(analysis)
        self.kernels: list[KernelText] = []
        if analysis.start:
            self.begin(analysis.start)
        if analysis.seed:
            self.first(analysis.seed)
        for phase in analysis.phases:
            crossing = self.edge_writer(self, phase)
            if analysis.synchronous:
                self.emit(phase)
                self.mark(phase)
                self.fire_all(phase)
            else:
                self.fire(phase)
                crossing.push()
                if sweeps(phase, self.width):
                    crossing.sweep()
            crossing.pull()
            if recounts(analysis, phase):
                crossing.recount()
            if phase.combines:
                crossing.receive()
        each_round = analysis.globals_each_round
        self.fold("fold", each_round)
        self.fold("conclude", tuple(name for name in analysis.globals if name not in each_round))
        self.finish()

    def kernel(self, name: str, doc: str, *first: str) -> KernelText:
        kernel = KernelText(name, doc, self.analysis, self.arrays)
        for argument in ("lo", "hi", *first):
            kernel.use(argument)
        self.kernels.append(kernel)
        return kernel

    def rows(self, kernel: KernelText, row: str = "v") -> Any:
        """The loop over the rows of a kernel."""
        return kernel.block(f"for {row} in range(lo, hi):")

    def open_list(self, kernel: KernelText) -> None:
        """Prepare a list of vertices, before the loop over rows."""
        kernel.add("count = uint64(0)")

    def enlist(self, kernel: KernelText) -> None:
        """Put v on the list."""
        kernel.add(f"{kernel.use('queue')}[lo + count] = v", "count += one")

    def close_list(self, kernel: KernelText) -> None:
        """Return the length of the list, or the variable `count`, after the loop over rows."""
        kernel.add("return count")

    close_count = close_list

    @contextmanager
    def rows_to_fold(self, kernel: KernelText, fields: Mapping[str, Any]) -> Iterator[None]:
        """The loop over rows that folds global values into `fold_...`. It works in parts, because a sum over all rows
        at once would lose the last digits."""
        kernel.add(*identities("total", fields))
        with kernel.block("for part_start in range(lo, hi, part_size):"):
            kernel.add(*identities("fold", fields))
            with kernel.block("for v in range(part_start, min(part_start + part_size, hi)):"):
                yield
            for name, of in fields.items():
                kernel.add(f"total_{name} = {merged_text(of, f'total_{name}', f'fold_{name}')}")
        kernel.add(f"return {', '.join(f'total_{name}' for name in fields)},")

    def begin(self, start: Reads) -> None:
        kernel = self.kernel("begin", "The initial states.")
        states = {field_name(state.name): state for state in self.analysis.states_without_deltas}
        with self.rows(kernel):
            self.assign(kernel, start, "start", states)

    def first(self, seed: Reads) -> None:
        kernel, phase = self.kernel("first", "The first messages."), self.analysis.phases[0]
        self.open_list(kernel)
        with self.rows(kernel):
            self.assign(kernel, seed, "seed", {inbox_name(phase, m): m for m in phase.messages})
            self.leave_out_nan(kernel, phase)
            with kernel.block(f"if {any_message(kernel, phase, inbox_name)}:"):
                kernel.add(f"{kernel.use('arrived')}[v] = True")
                self.enlist(kernel)
        self.close_list(kernel)

    def assign(self, kernel: KernelText, reads: Reads, function: str, targets: Mapping, local=NO_LOCALS) -> None:
        """Call a function and store its results, component by component for vectors."""
        vector_sums(kernel, reads, AT_ROW)
        vector = reads.vector or any(of.shape is not None for of in targets.values())
        news = [f"new_{array}" for array in targets]
        with kernel.components(vector):
            kernel.add(f"{', '.join(news)} = {call(kernel, reads, function, AT_ROW, None, local)}")
            for (array, of), new in zip(targets.items(), news, strict=True):
                store = f"{item(kernel.use(array, True), 'v', of)} = {new}"
                kernel.add(f"if c == 0: {store}" if vector and of.shape is None else store)

    def leave_out_nan(self, kernel: KernelText, phase: PhaseAnalysis) -> None:
        """Replace NaN in ordered messages with the identity, because NaN has no place in the order."""
        for message in phase.messages:
            if message.dtype.kind == "f" and smaller_wins(message) is not None:
                with kernel.components(message.shape is not None):
                    place = item(kernel.use(inbox_name(phase, message), True), "v", message)
                    kernel.add(f"if {place} != {place}: {place} = {literal(message.identity)}")

    def fire(self, phase: PhaseAnalysis) -> None:
        """Accumulative: apply inboxes and compute messages."""
        kernel = self.kernel(phase_name(phase, "fire"), "frontier[lo:hi] apply their inboxes.", "frontier")
        self.open_list(kernel)
        with self.rows(kernel, "i"):
            kernel.add("v = frontier[i]", f"{kernel.use('arrived')}[v] = False")
            self.fold_inbox(kernel, phase, phase.triggers)
            if not phase.idempotent:
                self.empty_inbox(kernel, phase)
            with kernel.block("if changed:"):
                condition = ""
                if phase.hoisted:
                    self.hoist(kernel, phase)
                    condition = any_message(kernel, phase, sent_name)
                with kernel.block(f"if {condition}:") if condition else nullcontext():
                    self.enlist(kernel)
        self.close_list(kernel)

    def hoist(self, kernel: KernelText, phase: PhaseAnalysis) -> None:
        """Compute the message of v along all its edges from its new state."""
        targets = {sent_name(phase, message): message for message in phase.messages}
        local = {} if self.width else {name: f"new_{name}" for name in phase.send.names_of("state")}
        self.assign(kernel, phase.send, phase_name(phase, "send"), targets, local)

    def fire_all(self, phase: PhaseAnalysis) -> None:
        """Synchronous: every vertex applies its inbox."""
        kernel = self.kernel(phase_name(phase, "fire"), "Rows lo:hi apply their inboxes.")
        kernel.add("count = uint64(0)")
        states = {state.name: state for state in self.analysis.states}
        with self.rows(kernel):
            for name in self.analysis.before:
                with kernel.components(states[name].shape is not None):
                    copy = item(kernel.use(before_name(name), True), "v", states[name])
                    kernel.add(f"{copy} = {item(kernel.use(field_name(name)), 'v', states[name])}")
            self.fold_inbox(kernel, phase, tuple(states))
            kernel.add("count += uint64(changed)")
        self.close_count(kernel)

    def fold_inbox(self, kernel: KernelText, phase: PhaseAnalysis, triggers: tuple[str, ...]) -> None:
        """Call `apply` for v and store the states; `changed` tells whether one of the triggers has changed."""
        states, reads = self.analysis.states, phase.apply
        vector_sums(kernel, reads, AT_ROW, phase)
        news = ", ".join(f"new_{state.name}" for state in states)
        if reads.vector or any(state.shape is not None for state in states):
            self.fold_vectors(kernel, phase, triggers, news)
            return
        kernel.add(f"{news} = {call(kernel, reads, phase_name(phase, 'apply'), AT_ROW, phase)}")
        tests = [self.differs(kernel, state, "new") for state in states if state.name in triggers]
        kernel.add(f"changed = {' or '.join(tests)}")
        kernel.add(
            *(f"{kernel.use(field_name(s.name), True)}[v] = new_{s.name}" for s in states if s.name in self.kept_states)
        )

    def fold_vectors(self, kernel: KernelText, phase: PhaseAnalysis, triggers: tuple[str, ...], news: str) -> None:
        """Do the same per component of a vector. Scalars come from component 0 and are stored last, since the other
        components read the old scalars."""
        scalars = [state for state in self.analysis.states if state.shape is None]
        kernel.add("changed = False")
        kernel.add(*(f"first_{state.name} = {kernel.use(field_name(state.name), True)}[v]" for state in scalars))
        with kernel.components(True):
            kernel.add(f"{news} = {call(kernel, phase.apply, phase_name(phase, 'apply'), AT_ROW, phase)}")
            for state in self.analysis.states:
                if state in scalars:
                    kernel.add(f"if c == 0: first_{state.name} = new_{state.name}")
                    continue
                if state.name in triggers:
                    kernel.add(f"changed = changed or {self.differs(kernel, state, 'new')}")
                kernel.add(f"{kernel.use(field_name(state.name), True)}[v, c] = new_{state.name}")
        for state in scalars:
            if state.name in triggers:
                kernel.add(f"changed = changed or {self.differs(kernel, state, 'first')}")
            kernel.add(f"{field_name(state.name)}[v] = first_{state.name}")

    def differs(self, kernel: KernelText, state: State, local: str) -> str:
        """Whether a field has changed. If rounds continue until no field changes, a NaN that stays NaN is unchanged."""
        new, old = f"{local}_{state.name}", self.old(kernel, state)
        waits = self.analysis.synchronous and self.analysis.stop is None and state.dtype.kind == "f"
        return f"{new} != {old}" + (f" and ({new} == {new} or {old} == {old})" if waits else "")

    def old(self, kernel: KernelText, state: State) -> str:
        """A field before this firing. In accumulative programs a Delta has been reset to its start."""
        reset = isinstance(state, Delta) and not self.analysis.synchronous
        return literal(state.start) if reset else item(kernel.use(field_name(state.name)), "v", state)

    def empty_inbox(self, kernel: KernelText, phase: PhaseAnalysis) -> None:
        for message in phase.messages:
            with kernel.components(message.shape is not None):
                array = kernel.use(inbox_name(phase, message), True)
                kernel.add(f"{item(array, 'v', message)} = {literal(message.identity)}")

    def emit(self, phase: PhaseAnalysis) -> None:
        """Synchronous: compute the messages of every vertex."""
        if not phase.hoisted:
            return
        kernel = self.kernel(phase_name(phase, "emit"), "The messages of rows lo:hi, the same along all their edges.")
        with self.rows(kernel):
            targets = {sent_name(phase, message): message for message in phase.messages}
            self.assign(kernel, phase.send, phase_name(phase, "send"), targets)

    def mark(self, phase: PhaseAnalysis) -> None:
        """Synchronous: find out which vertices send anything, if pulls ask that."""
        if not phase.skips_silent:
            return
        kernel = self.kernel(phase_name(phase, "mark"), "Flag those of the rows lo:hi that send anything.")
        flags = kernel.use("sending", True)
        with self.rows(kernel):
            kernel.add(f"{flags}[v] = False")
            for message in phase.messages:
                with kernel.components(message.shape is not None):
                    sent = item(kernel.use(sent_name(phase, message)), "v", message)
                    with kernel.block(f"if {sent} != {literal(message.identity)}:"):
                        kernel.add(f"{flags}[v] = True", *(["break"] if message.shape is not None else []))

    def fold(self, name: str, names: tuple[str, ...]) -> None:
        """Fold the rows into global values."""
        if not names:
            return
        kernel = self.kernel(name, f"Fold rows lo:hi into {', '.join(names)}.")
        fields = {name: self.analysis.globals[name] for name in names}
        with self.rows_to_fold(kernel, {field_name(name): of for name, (of, _) in fields.items()}):
            for name, (of, reads) in fields.items():
                vector_sums(kernel, reads, AT_ROW)
                if reads.component is not None:
                    kernel.add(f"c = {reads.component}")
                with kernel.components(reads.vector and reads.component is None):
                    total, value = f"fold_{field_name(name)}", call(kernel, reads, f"value_of_{of.name}")
                    kernel.add(f"{total} = {merged_text(of, total, value)}")

    def finish(self) -> None:
        """Compute the columns of the answer."""
        if not self.analysis.results:
            return
        kernel = self.kernel("finish", "The results of rows lo:hi.")
        with self.rows(kernel):
            self.fill_results(kernel)

    def settled(self) -> None:
        """Compute them when messages are waiting that have not been applied; the new states are not stored."""
        (phase,), news = self.analysis.phases, {state.name: f"new_{state.name}" for state in self.analysis.states}
        kernel = self.kernel("settled", "The results of rows lo:hi after applying the messages in their inboxes.")
        with self.rows(kernel):
            kernel.add(*(f"{new} = {kernel.use(field_name(name))}[v]" for name, new in news.items()))
            with kernel.block(f"if {any_message(kernel, phase, inbox_name)}:"):
                applied = call(kernel, phase.apply, phase_name(phase, "apply"), AT_ROW, phase, news)
                kernel.add(f"{', '.join(news.values())} = {applied}")
            self.fill_results(kernel, news)

    def fill_results(self, kernel: KernelText, local: Mapping[str, str] = NO_LOCALS) -> None:
        """Compute the results of v; `local` names the local variables that hold some states."""
        for name, (_, reads) in self.analysis.results.items():
            vector_sums(kernel, reads, AT_ROW)
            index = "v, c" if reads.vector else "v"
            with kernel.components(reads.vector):
                value = call(kernel, reads, f"value_of_{name}", local=local)
                kernel.add(f"{kernel.use(f'result_{name}', True)}[{index}] = {value}")


def sweeps(phase: PhaseAnalysis, width: int) -> bool:
    """Whether vertices may send changes before others have fired, as with sums, whose order does not matter."""
    return phase.hoisted and not phase.idempotent and not width


def kept_states(analysis: Analysis) -> set[str]:
    """The fields that need an array: all but a Delta that is used only in a message computed by `fire`."""
    if analysis.width or analysis.synchronous or not analysis.phases[0].hoisted:
        return {state.name for state in analysis.states}
    others = [reads for _, reads in (*analysis.globals.values(), *analysis.results.values())]
    read = {name.removesuffix("_before") for reads in others for name in reads.names_of("state", "before")}
    return {state.name for state in analysis.states if not isinstance(state, Delta) or state.name in read}
