//! The graphs and charts that a person looks at. `DRAW_OUT=dir cargo test -p referee-draw --test samples`
//! writes them to `dir`.

mod gallery;
