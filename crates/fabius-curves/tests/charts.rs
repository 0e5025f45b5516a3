//! Pictures and numbers of charts.

use fabius_curves::{Axis, Chart, Point, Series, csv, svg};

fn chart() -> Chart {
    let mut random = Series::line("random", [(1.0, 5.0), (10.0, 50.0)]);
    random.points[1].range = Some((40.0, 60.0));
    let mut bugs = Series::scatter("a, \"b\" <c> & d", [(2.0, 3.0)]);
    bugs.points[0].label = "<script>".into();
    Chart {
        title: "States & <bounds>".into(),
        x: Axis::linear("executions", ""),
        y: Axis::logarithmic("time", "s"),
        series: vec![random, bugs],
    }
}

#[test]
fn numbers_are_written_with_units() {
    let expected = "series,executions,time (s),least,most,label\nrandom,1,5,,,\nrandom,10,50,40,60,\n\
                    \"a, \"\"b\"\" <c> & d\",2,3,,,<script>\n";
    assert_eq!(csv(&chart()), expected);
}

#[test]
fn text_stays_text() {
    let picture = svg(&chart()).unwrap();
    assert!(picture.contains("<title>States &amp; &lt;bounds&gt;</title>"), "{picture}");
    assert!(!picture.contains("<script>") && !picture.contains("<c>"), "{picture}");
    for label in ["executions", "time (s)", "&lt;script&gt;"] {
        assert!(picture.contains(label), "no {label}: {picture}");
    }
}

#[test]
fn what_xml_does_not_know_is_left_out() {
    let picture = svg(&Chart { title: "a\u{1b}[31m\u{0}\u{ffff}".into(), ..chart() }).unwrap();
    assert!(picture.contains("<title>a [31m  </title>") && !picture.contains(['\u{1b}', '\u{0}', '\u{ffff}']));
}

#[test]
fn all_of_the_legend_is_in_the_picture() {
    let name = |n: usize| format!("{n}: a strategy with quite a long name");
    let series = (0..30).map(|n| Series::line(&name(n), [(1.0, 1.0), (2.0, 2.0)])).collect();
    let picture = svg(&Chart { series, ..chart() }).unwrap();
    assert!(picture.contains(r#"width="931" height="712""#), "{}", &picture[..200]);
}

#[test]
fn series_differ_without_colour() {
    let series = (0..40).map(|n| Series::line(&format!("series {n}"), [(1.0, 1.0), (2.0, 2.0)])).collect();
    let picture = svg(&Chart { series, ..chart() }).unwrap();
    let legend = picture.split_once("series 0").map(|(before, _)| &picture[before.len() - 1000..]).unwrap();
    let mut seen = std::collections::HashSet::new();
    for (n, entry) in legend.split("</text>").take(40).enumerate().skip(1) {
        assert!(entry.ends_with(&format!("series {n}")) || entry.ends_with(&format!("series {n}\n")), "{entry}");
        // What is drawn, without colours and relative to its height.
        let height = 52 + 22 * n as i32;
        let (drawn, _) = entry.split_once("<text").unwrap();
        let mut drawn = drawn.split('#').map(|part| part.get(6..).unwrap_or(part)).collect::<String>();
        for off in -6..=6 {
            drawn = drawn.replace(&format!(",{}", height + off), &format!(",y{off}"));
            drawn = drawn.replace(&format!("cy=\"{}", height + off), &format!("cy=\"y{off}"));
            drawn = drawn.replace(&format!("y1=\"{}", height + off), &format!("y1=\"y{off}"));
        }
        assert!(seen.insert(drawn), "series {n} looks like another");
    }
    assert_eq!(seen.len(), 39);
}

#[test]
fn what_has_no_place_is_refused() {
    let mut wrong = chart();
    wrong.series[0].points.push(Point { x: 1.0, y: 0.0, ..Point::default() });
    assert_eq!(svg(&wrong).unwrap_err(), "0 cannot be drawn on the axis `time (s)`");
    wrong.series.clear();
    assert_eq!(svg(&wrong).unwrap_err(), "there is nothing to draw");
}
