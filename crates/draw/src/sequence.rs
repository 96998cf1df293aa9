//! Sequence charts.
