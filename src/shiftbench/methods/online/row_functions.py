"""Compiled functions of a row, and calls of them by their addresses.

A learner gives its compiled functions to compiled loops, which are compiled once for all learners.
All have the type STEP, a `numba.cfunc`. Loops get addresses: numba takes 10 microseconds to pass a
function, and .1 to pass a number.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

ROW = types.float64[::1]
STEP = types.void(types.float64[:, ::1], ROW, ROW, ROW, ROW, ROW)
"""(numbers, inputs, targets, constants, scratch, evidence); changes numbers, scratch, evidence."""


def caller(signature: Any) -> Any:
    """Return a compiled function (address, tuple of arguments) that calls the function there.

    The function at the address must be a `numba.cfunc` of this signature.
    """

    @intrinsic
    def call(context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            result = context.get_value_type(signature.return_type)
            kinds = [context.get_value_type(kind) for kind in signature.args]
            pointer = ir.FunctionType(result, kinds).as_pointer()
            function = builder.inttoptr(values[0], pointer)
            return builder.call(function, cgutils.unpack_tuple(builder, values[1]))

        if tuple(arguments) != signature.args:
            raise TypeError(f"arguments {arguments} of a function of type {signature}")
        return signature.return_type(types.int64, arguments), generate

    return call


call = caller(STEP)
"""call(address, (numbers, inputs, targets, constants, scratch, evidence)), in compiled code."""


def borrowed(array):
    """Return the array, in compiled code as a view that is not counted as a reference.

    Its slices are not counted either. Counting each slice of a hypothesis takes several times as
    long as a step with few regressors. The array must live as long as the view, as the arguments of
    a function do while it runs.
    """
    return array


@intrinsic
def _without_owner(context, array):
    """Return a copy of the array's header with no owner, which numba then does not count."""

    def code(target, builder, signature, arguments):
        header = cgutils.create_struct_proxy(array)(target, builder, arguments[0])
        header.meminfo = cgutils.get_null_value(header.meminfo.type)
        return header._getvalue()

    return array(array), code


@overload(borrowed)
def _compiled_borrowed(array):
    """Give numba the compiled form of `borrowed`."""
    return lambda array: _without_owner(array)
