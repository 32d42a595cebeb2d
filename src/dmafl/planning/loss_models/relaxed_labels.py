"""The label bias of a relaxed schedule and its derivatives: the recursion of class scores, forwards and backwards."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.label_slopes import weights_of_slots
from dmafl.theory.label_bias import loss_by_bias, loss_by_bias_slopes
from dmafl.theory.label_flow import PIECES, Decay, FlowPiece, flow_piece, flow_piece_back
from dmafl.theory.label_mix import LabelMix


def relaxed_label_bias(
    x: FloatArray, mix: FloatArray, time: FloatArray, labels: LabelMix
) -> tuple[float, FloatArray, FloatArray]:
    """L of shares x (G, I, S), its derivative in x, and in the time of every slot's jobs (G,).

    Scores after slot k are those before it plus sum_{i,s} x alpha (scores of candidate (i, s) - scores before).
    """
    G, _, S = x.shape
    devices, classes = labels.held.shape
    scores = np.zeros((G + 1, classes))
    weight = x * mix[:, None, :]
    pieces: list[list[FlowPiece]] = []
    locals_ = []
    held, kept, grown = Decay.of(labels.held[None], time[:, None, None])
    for k in range(G):
        n = min(S, k + 1)
        local: FloatArray = np.broadcast_to(scores[k - np.arange(n)], (devices, n, classes))
        pieces.append([])
        for _ in range(PIECES):
            pieces[k].append(flow_piece(local, kept[k][:, None, :], grown[k][:, None, :]))
            local = pieces[k][-1].scores
        locals_.append(local)
        scores[k + 1] = scores[k] + np.einsum("is,isc->c", weight[k, :, :n], local - scores[k])
    counts, asked = weights_of_slots(G), labels.asked
    back = np.zeros_like(scores)
    back[1:] = loss_by_bias_slopes(scores[1:], asked) * counts[:, None]
    of_x, of_time = np.zeros_like(x), np.zeros(G)
    for k in range(G - 1, -1, -1):
        n, pull = min(S, k + 1), back[k + 1]
        of_x[k, :, :n] = mix[k, :n] * ((locals_[k] - scores[k]) @ pull)
        back[k] += pull * (1.0 - weight[k, :, :n].sum())
        of_local = weight[k, :, :n, None] * pull
        for piece in reversed(pieces[k]):
            of_local, of_kept, of_grown = flow_piece_back(piece, of_local, grown[k][:, None, :])
            # kept and grown are those of the device, whatever the staleness
            of_path = (of_grown.sum(axis=1) - held[0] * of_kept.sum(axis=1)) * kept[k]
            of_time[k] += float(of_path.sum()) / PIECES
        back[k - np.arange(n)] += of_local.sum(axis=0)
    return float(loss_by_bias(scores[1:], asked) @ counts), of_x, of_time
