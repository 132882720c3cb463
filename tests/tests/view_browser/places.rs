//! Where the page may be served from, and who may not read what it shows.

use std::fs;
use std::time::{Duration, Instant};

use kiln_tests::runs::{kiln, outcome};
use kiln_tests::static_host;
use kiln_tests::view::View;

use crate::view_browser::stage::{RUN, Stage, assert_content, copy, drawn, messages, ready, status, window};

#[test]
fn an_export_works_on_the_plainest_server() {
    let stage = Stage::shared();
    // Below a path, as on a site with other pages.
    let site = stage.scratch.join("site");
    let mut export = kiln();
    export
        .arg("view")
        .arg(stage.scratch.join("runs"))
        .arg("--export")
        .arg(site.join("splats"));
    assert_eq!(outcome(&mut export).0, Some(0));
    let address = static_host::serve(site);
    let page = window();
    page.go(&format!("http://{address}/splats/index.html"));
    ready(&page);
    drawn(&page);
    assert_eq!(status(&page)["run"], RUN);
    page.click("#tab-metrics");
    page.wait("document.querySelector('#charts figure[data-chart=psnr] path.curve')");
    page.click("#tab-evaluation");
    page.wait("document.querySelector('#views tr[data-view]')");
    assert_content(&page);
}

#[test]
fn a_link_shows_what_one_saw_and_holds_no_token() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.set("#style", "points");
    page.click("#degrees [data-value='1']");
    page.set("#scale", "0.5");
    page.click("#tab-evaluation");
    page.wait("document.querySelectorAll('#views tr[data-view]').length > 2");
    // Not the first with pictures, which is shown by itself.
    page.click("#views tr[data-view]:not(.dim) ~ tr:not(.dim)");
    page.click("#pair-render-error");
    page.set("#wipe", "250");
    page.click("#tab-metrics");
    page.wait("document.querySelector('#charts figure[data-chart=loss] [data-act=chart-log]')");
    page.click("#charts figure[data-chart=loss] [data-act=chart-log]");
    page.set("#smooth", "0.5");
    page.click("#tab-evaluation");
    page.run(
        "window.copied = ''; Object.defineProperty(navigator, 'clipboard', \
         { value: { writeText: async text => { window.copied = text; } } })",
    );
    page.click("#copy-link");
    page.wait("document.getElementById('copy-link').textContent === 'Copied'");
    let link = page.eval("copied").as_str().unwrap().to_owned();
    assert!(
        link.starts_with("http://127.0.0.1:") && !link.contains("token"),
        "{link}"
    );

    // Who has a token of their own sees the same.
    let shown = "[document.querySelector('#views tr[aria-current]').dataset.value, \
                 document.getElementById('clip').style.clipPath, \
                 document.getElementById('pair-render-error').ariaPressed, \
                 document.querySelector('#degrees [aria-pressed=true]').dataset.value, \
                 document.getElementById('style').value, \
                 document.getElementById('scale').value, document.getElementById('smooth').value]";
    let again = window();
    again.go(&format!("{link}&token={}", stage.view.token));
    ready(&again);
    again.wait("document.getElementById('picture-right').width === 80");
    assert_eq!(again.eval(shown), page.eval(shown));
    again.click("#tab-metrics");
    again.wait("document.querySelector('#charts figure[data-chart=loss] [data-act=chart-log]').ariaPressed === 'true'");
    assert_content(&again);
}

#[test]
fn back_leads_to_the_tab_and_the_run_before() {
    let stage = Stage::shared();
    let root = stage.scratch.join("history");
    for name in ["one", "two"] {
        copy(&stage.run(), &root.join(name));
    }
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/one", view.url));
    ready(&page);
    drawn(&page);
    let entries = page.eval("history.length");
    page.click("#degrees [data-value='1']");
    page.wait("location.search.includes('sh=1')");
    page.click("#tab-metrics");
    page.click("#tab-evaluation");
    page.wait("document.querySelector('#views tr[data-view]')");
    assert_eq!(
        page.eval("history.length").as_u64(),
        entries.as_u64().map(|n| n + 2),
        "one a tab"
    );
    page.run("history.back()");
    page.wait("!document.getElementById('panel-metrics').hidden && location.search.includes('tab=metrics')");
    page.run("history.back()");
    page.wait("!document.getElementById('panel-splats').hidden && !location.search.includes('tab=')");
    assert!(status(&page)["splats"].as_u64() > Some(0), "the model stays");
    page.run("history.forward()");
    page.wait("!document.getElementById('panel-metrics').hidden");
    // Another run, and back to the one before as it was left.
    page.set("#run", "runs/two");
    page.wait("JSON.parse(kiln.status()).run === 'runs/two'");
    page.run("history.back()");
    page.wait("JSON.parse(kiln.status()).run === 'runs/one' && !document.getElementById('panel-metrics').hidden");
    ready(&page);
    assert_content(&page);
}

#[test]
fn without_the_token_the_page_says_what_to_open() {
    let stage = Stage::shared();
    // A server that this browser has never opened with its token, which it would have kept.
    let view = View::start(&stage.scratch.join("runs"));
    let page = window();
    for token in ["", "?token=0123456789abcdef0123456789abcdef"] {
        page.go(&format!("http://{}/{token}", view.address));
        ready(&page);
        page.wait("document.querySelector('#messages [role=alert]')");
        let said = messages(&page).join("\n");
        assert!(said.contains("kiln view"), "{said}");
        assert_eq!(status(&page)["splats"], 0);
    }
}

#[test]
fn the_token_leaves_the_address() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.wait("!location.search.includes('token')");
    // A reload, and a link that was copied from the address line, find it in this browser.
    page.run("window.before = true; setTimeout(() => location.reload())");
    page.wait("!window.before");
    ready(&page);
    drawn(&page);
    page.click("#comparisons");
    page.wait("location.pathname.endsWith('compare.html') && document.documentElement.dataset.state === 'ready'");
    assert_eq!(page.eval("location.search"), "");
    assert_content(&page);
}

#[test]
fn pages_of_other_sites_read_nothing() {
    let stage = Stage::shared();
    let site = stage.scratch.join("evil");
    fs::create_dir_all(&site).unwrap();
    fs::write(site.join("index.html"), "<!doctype html><title>evil</title><body>").unwrap();
    let address = static_host::serve(site);
    let set = stage.run().join("eval/gt/test");
    let file = fs::read_dir(set).unwrap().next().unwrap().unwrap().file_name();
    let pictured = format!("eval/gt/test/{}", file.to_str().unwrap());
    assert_eq!(stage.view.get(&format!("/{RUN}/{pictured}"), &[]).status, 200);
    let page = window();
    // The worst case: the other site knows the address and the token.
    for host in [address.to_string(), format!("localhost:{}", address.port())] {
        page.go(&format!("http://{host}/"));
        page.wait("document.title === 'evil'");
        let data = format!("http://{}/runs.json?token={}", stage.view.address, stage.view.token);
        let picture = format!(
            "http://{}/{RUN}/{}?token={}",
            stage.view.address, pictured, stage.view.token
        );
        for script in [
            format!("fetch({data:?}).then(a => a.text()).catch(() => 'refused')"),
            format!(
                "fetch({data:?}, {{ mode: 'no-cors' }}).then(a => a.text()).then(t => t || 'refused').catch(() => 'refused')"
            ),
            format!(
                "new Promise(end => {{ const i = new Image(); i.onload = () => end('shown'); \
                 i.onerror = () => end('refused'); i.src = {picture:?}; }})"
            ),
        ] {
            assert_eq!(page.eval(&script), "refused", "{script}");
        }
        // A frame is refused by the page's own policy, which the browser reports on the console only.
        page.run(&format!(
            "const frame = document.createElement('iframe'); frame.src = {:?}; document.body.append(frame)",
            stage.view.url
        ));
        let end = Instant::now() + Duration::from_secs(30);
        while !page.complaints().iter().any(|text| text.contains("frame-ancestors")) {
            assert!(Instant::now() < end, "framed: {:?}", page.complaints());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
