//! Calls tools with the Rust SDK: ADDRESS CALLS SCOPES [CLIENT_ID].

use std::{env, process::Command, time::Duration};

use rmcp::{
    ServiceExt,
    model::CallToolRequestParams,
    transport::{
        AuthClient, StreamableHttpClientTransport,
        auth::{AuthorizationRequest, OAuthState},
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [address, calls, _scopes, registered @ ..] = &words[..] else {
        return Err("ADDRESS CALLS SCOPES [CLIENT_ID]".into());
    };
    let callback = TcpListener::bind("127.0.0.1:0").await?;
    let redirect = format!("http://{}/callback", callback.local_addr()?);
    let asked = AuthorizationRequest::new(&redirect).with_client_name("an application in Rust");
    let asked = match registered {
        [client_id] => asked.with_preregistered_client(client_id),
        _ => asked,
    };
    let mut signing_in = OAuthState::new(address, None).await?;
    signing_in.start_authorization(asked).await?;
    open_browser(&signing_in.get_authorization_url().await?)?;
    let arrived = wait_for(&callback).await?;
    signing_in.handle_callback_url(&format!("http://localhost{arrived}")).await?;
    let manager = signing_in.into_authorization_manager().ok_or("no tokens")?;

    let client = AuthClient::new(reqwest::Client::new(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(address.as_str());
    let service = ().serve(StreamableHttpClientTransport::with_client(client, config)).await?;
    service.list_all_tools().await?;
    let calls: Vec<serde_json::Value> = serde_json::from_str(calls)?;
    for wanted in calls {
        let tool = wanted["tool"].as_str().unwrap_or_default().to_owned();
        let values = wanted["values"].as_object().cloned().unwrap_or_default();
        let mut opened = false;
        loop {
            let call = CallToolRequestParams::new(tool.clone()).with_arguments(values.clone());
            let said = serde_json::to_string(&service.call_tool(call).await?)?;
            let Some(link) = approval_in(&said) else {
                println!("{said}");
                break;
            };
            if !opened {
                open_browser(link)?;
                opened = true;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
    service.cancel().await?;
    Ok(())
}

fn open_browser(address: &str) -> Result<(), Failure> {
    Command::new("xdg-open").arg(address).status()?;
    Ok(())
}

/// Returns the path and query at which the browser arrives.
async fn wait_for(callback: &TcpListener) -> Result<String, Failure> {
    loop {
        let (stream, _) = callback.accept().await?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\nYou may close this").await?;
        if let Some(path) = line.split(' ').nth(1).filter(|path| path.starts_with("/callback?")) {
            return Ok(path.to_owned());
        }
    }
}

/// Finds the page on which the person approves a change.
fn approval_in(said: &str) -> Option<&str> {
    let at = said.find("/approvals?client=")?;
    let start = said[..at].rfind("http")?;
    let length = said[start..].find(|letter: char| letter.is_whitespace() || "\"\\".contains(letter));
    Some(&said[start..length.map_or(said.len(), |length| start + length)])
}
