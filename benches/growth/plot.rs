//! The picture of growth: three panels over the number of entries, both axes logarithmic.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Point;
use crate::contender::Contender;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One panel.
struct Panel {
    title: &'static str,
    /// The height of a point, none if it has none.
    height: fn(&Point) -> Option<f64>,
    label: fn(&f64) -> String,
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "Resume, with opening (seconds)",
        height: |point| Some(point.resume),
        label: |seconds| unit(*seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")]),
    },
    Panel {
        title: "Build of index or database (seconds)",
        height: |point| point.build,
        label: |seconds| unit(*seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")]),
    },
    Panel {
        title: "Private memory of the process (bytes)",
        height: |point| Some(point.memory? as f64),
        label: |bytes| unit(*bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB")]),
    },
];

pub fn draw(points: &[Point], path: &Path) {
    let area = SVGBackend::new(path, (1260, 420)).into_drawing_area();
    area.fill(&WHITE).expect("drawn");
    let (legend, panels) = area.split_vertically(36);
    draw_legend(&legend);
    for (panel, area) in PANELS.iter().zip(panels.split_evenly((1, 3))) {
        draw_panel(panel, points, &area);
    }
    area.present().expect("written");
}

fn draw_legend(area: &Area<'_>) {
    for (number, contender) in (0..).zip(Contender::ALL) {
        let left = 180 + number * 250;
        let style = color(contender);
        let line = PathElement::new([(left, 20), (left + 36, 20)], style.stroke_width(3));
        area.draw(&line).expect("drawn");
        let dot = Circle::new((left + 18, 20), 4, style.filled());
        area.draw(&dot).expect("drawn");
        let text = Text::new(contender.name(), (left + 46, 13), ("sans-serif", 16));
        area.draw(&text).expect("drawn");
    }
}

fn draw_panel(panel: &Panel, points: &[Point], area: &Area<'_>) {
    let places: Vec<(Contender, (f64, f64))> = points
        .iter()
        .filter_map(|point| {
            let height = (panel.height)(point)?;
            Some((point.contender, (point.entries as f64, height)))
        })
        .collect();
    let (left, right) = bounds(places.iter().map(|(_, place)| place.0));
    let (low, high) = bounds(places.iter().map(|(_, place)| place.1));
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 17))
        .margin(10)
        .margin_right(24)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (left * 0.8..right * 1.25).log_scale(),
            // Whole powers of ten, so that the lines of the grid have labels.
            (power_below(low) * 0.99..power_below(high) * 10.1).log_scale(),
        )
        .expect("a chart");
    chart
        .configure_mesh()
        .x_desc("entries")
        .x_label_formatter(&|entries| crate::support::report::count(*entries as u64))
        .y_label_formatter(&panel.label)
        .light_line_style(RGBColor(236, 236, 236))
        .bold_line_style(RGBColor(205, 205, 205))
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .draw()
        .expect("drawn");
    for contender in Contender::ALL {
        let own = places.iter().filter(|(whose, _)| *whose == contender);
        let own: Vec<(f64, f64)> = own.map(|(_, place)| *place).collect();
        let style = color(contender);
        let line = LineSeries::new(own.iter().copied(), style.stroke_width(3));
        chart.draw_series(line).expect("drawn");
        let dots = own
            .iter()
            .map(|place| Circle::new(*place, 4, style.filled()));
        chart.draw_series(dots).expect("drawn");
    }
}

/// Colours that differ for those too who do not tell red from green.
fn color(contender: Contender) -> RGBColor {
    match contender {
        Contender::Leaflog => RGBColor(0, 90, 181),
        Contender::Sqlite => RGBColor(230, 159, 0),
        Contender::SimdJson => RGBColor(0, 158, 115),
        Contender::SerdeJson => RGBColor(204, 80, 140),
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn power_below(value: f64) -> f64 {
    10_f64.powf(value.log10().floor())
}

fn unit(value: f64, units: &[(f64, &str)]) -> String {
    // A hair below a power of ten is that power.
    let (factor, name) = units
        .iter()
        .find(|(factor, _)| value >= factor * 0.999)
        .or(units.last())
        .expect("units");
    format!("{} {name}", (value / factor * 1e3).round() / 1e3)
}
