"""What distributed-ucxx does with messages, within this process: frames of main memory arrive there, and arrays of the
stand-in for CuPy as such arrays. Both are copied on the way, and nobody reads the latter as NumPy."""

from cupy_on_cpu import Array
from distributed.comm.inproc import InProc, InProcBackend, InProcConnector, InProcListener
from distributed.comm.utils import from_frames, to_frames
from distributed.protocol.cuda import cuda_deserialize, cuda_serialize

FAMILIES = "cuda", "dask", "pickle", "error"


@cuda_serialize.register(Array)
def _(array):
    return {}, [array]


@cuda_deserialize.register(Array)
def _(header, frames):
    return frames[0]


class Comm(InProc):
    carried: list[int]  # bytes of each array of a GPU, for all comms of a backend

    async def write(self, msg, serializers=None, on_error="message"):
        frames = await to_frames(msg, serializers=FAMILIES, on_error=on_error)
        self.carried += [frame.nbytes for frame in frames if isinstance(frame, Array)]
        return await super().write([Array(f.array.copy()) if isinstance(f, Array) else bytes(f) for f in frames])

    async def read(self, deserializers=None):
        return await from_frames(await super().read(), deserialize=self.deserialize, deserializers=FAMILIES)


class Backend(InProcBackend):
    """For `distributed.comm.registry.backends`."""

    def __init__(self):
        self.comm = type("Comm", (Comm,), {"carried": []})

    def get_connector(self):
        return Connector(self.manager, self.comm)

    def get_listener(self, loc, handle_comm, deserialize, **connection_args):
        return Listener(None, handle_comm, deserialize, self.comm)  # whatever address was asked for


class Connector(InProcConnector):
    def __init__(self, manager, comm):
        super().__init__(manager)
        self.comm = comm

    async def connect(self, address, deserialize=True, **connection_args):
        found = await super().connect(address, deserialize, **connection_args)
        found.__class__ = self.comm
        return found


class Listener(InProcListener):
    def __init__(self, address, comm_handler, deserialize, comm):
        super().__init__(address, comm_handler, deserialize)
        self.comm = comm

    async def _handle_stream(self, comm):
        comm.__class__ = self.comm
        await super()._handle_stream(comm)

    @property
    def contact_address(self):
        return f"ucxx://{self.address}"

    listen_address = contact_address
